import { z } from 'zod';
import { type FamilyName, families, familyNames, type LivenessFamily, livenessFamilies } from './families.ts';

/**
 * Parts of the manifest's schema. A manifest may come from a third party, and the native code does not validate it.
 * Each number therefore has a range that keeps arithmetic finite and buffers small.
 */

// Allows only plain names, because a manifest of a third party must not refer to files outside its directory.
const fileName = z.string().regex(/^[\w-][\w.-]*\.onnx$/, 'must be a plain file name ending in .onnx');
export const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits');
export const name = z.string().min(1);
const pixels = z.int().min(1).max(2048);
/** Side length in pixels of a face crop or an aligned face. */
export const cropPixels = z.int().min(1).max(512);
export const share = z.number().min(0).max(1);
export const factor = z.number().min(1e-9).max(1000);
export const weight = z.number().min(0).max(1000);
export const number = z.number().min(-1000).max(1000);

/** Another pack under models/packs whose model for the same role is used. */
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
  /** Path inside the source, or the pack that has the file. */
  from: z.union([name, otherPack], { error: 'must be a path inside the source, or {"pack": NAME}' }),
  /** Source of the model; by default the source of the pack. */
  source: npmSource.optional(),
  /** SHA-256 of the file as published. */
  source_sha256: sha256Hex,
  /** SHA-256 of the prepared file; equal to `source_sha256` if the model is used as published. */
  sha256: sha256Hex,
  licence: name,
};

/** Input of a model: (byte − mean) × scale. */
export const preprocessing = { input: name, mean: number, scale: factor };

/** Input of a model with three colour planes. `mean` is one value, or one for each plane in the order of `channels`. */
export const colours = {
  channels: z.enum(['rgb', 'bgr']),
  mean: z.union([number, z.tuple([number, number, number])], {
    error: 'must be a number, or one for each of three planes, from -1000 to 1000',
  }),
};

/** Source of a pack's models, unless a model has its own source or comes from another pack. */
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
      /** Instructions for the user on how to get the files. */
      get: name,
    }),
  ],
  { error: oneOf('npm', 'project') },
);

const anyDetector = {
  ...net,
  ...preprocessing,
  ...colours,
  width: pixels,
  height: pixels,
  nms_iou: share,
  /** Minimum score of a face in the second detection, on an enlarged crop. */
  second_look_score: share,
  /** Score that usually only upright faces reach. */
  clear_score: share.default(0.999998),
};

const grids = {
  /** Distance in pixels between the cells of each grid. */
  strides: z
    .array(z.int().min(1).max(128))
    .min(1)
    .max(8)
    .refine((all) => all.every((one, i) => i === 0 || (one > all[i - 1]! && one % all[i - 1]! === 0)), {
      error: 'must be in ascending order, each a multiple of the previous one',
    }),
};

const maxAnchors = 16;

const cells = {
  anchors: { ...grids, anchors: z.int().min(1).max(maxAnchors) },
  priors: {
    ...grids,
    /** Side lengths of a cell's priors in pixels, as one list for each stride. */
    priors: z.array(z.array(z.number().min(1).max(2048)).min(1).max(maxAnchors)),
    /** Variances of a prior's centre and of its sides. */
    variances: z.tuple([factor, factor]),
  },
};

type Members = Record<string, unknown>;

type AnyDetector = z.ZodObject<typeof anyDetector & { family: z.ZodLiteral<FamilyName> }, z.core.$strict>;

/** Returns the schema of a detector of this family. The type omits members that only some families have. */
function detectorOf(family: FamilyName): AnyDetector {
  const { outputs, strides, cells: has, wholeCells } = families[family];
  const named = Object.entries(outputs).map(([member, count]) => [
    member,
    count === 'one' ? name : z.array(name),
  ]);
  const stridesOf = (one: Members) => strides ?? (one.strides as number[]);
  const lists = Object.keys(outputs).filter((member) => outputs[member] === 'each');
  if (has === 'priors') lists.push('priors');
  return z
    .strictObject({
      ...anyDetector,
      family: z.literal(family),
      ...(has && cells[has]),
      ...(Object.fromEntries(named) as object),
    })
    .superRefine((one: Members, { addIssue }) => {
      const addFault = (member: string, message: string) =>
        addIssue({ code: 'custom', path: [member], message });
      for (const member of lists)
        if ((one[member] as unknown[]).length !== stridesOf(one).length)
          addFault(member, 'must have one item for each stride');
      const largest = wholeCells ? stridesOf(one).at(-1)! : 1;
      for (const side of ['width', 'height'])
        if ((one[side] as number) % largest !== 0)
          addFault(side, `must be a multiple of the largest stride, ${largest}`);
      // The native code reads each output with another meaning, so they must differ.
      const all = Object.keys(outputs).flatMap((member) => one[member] as string | string[]);
      if (new Set(all).size !== all.length) addIssue({ code: 'custom', message: 'names an output twice' });
    }) as AnyDetector;
}

const [first, ...others] = familyNames.map(detectorOf);

export const detector = z.discriminatedUnion('family', [first!, ...others], {
  error: oneOf(...familyNames),
});

function oneOf(...words: string[]) {
  return ({ code }: { code?: string | undefined }) =>
    code === 'invalid_union' ? `must be one of ${words.join(', ')}` : undefined;
}

/** Maximum number of liveness models, because each needs memory. */
const maxLivenessNets = 8;

/** Presentation attack detection. The live score is the softmax of a model's logits, averaged over the models. */
export const liveness = z.strictObject({
  family: z.enum(Object.keys(livenessFamilies) as [LivenessFamily, ...LivenessFamily[]]),
  /** Faces with a lower score are treated as attacks. */
  live_threshold: share.default(0.5),
  nets: z
    .array(
      z.strictObject({
        file: fileName,
        /** SHA-256 of the file, which is used as the user provided it. */
        sha256: sha256Hex,
        licence: name,
        input: name,
        output: name,
        size: cropPixels,
        /** Sides of the crop relative to the sides of the face's box. */
        scale: z.number().gt(1).max(1000),
      }),
    )
    .min(1)
    .max(maxLivenessNets),
});
