import { readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { productPath } from '../config/paths.ts';
import {
  colours,
  cropPixels,
  detector,
  factor,
  liveness,
  name,
  net,
  number,
  preprocessing,
  sha256Hex,
  share,
  source,
  weight,
} from './manifest-parts.ts';

/** Reads manifests. A model pack is a directory with manifest.json and prepared models. */

const planName = z
  .string()
  .regex(/^[\w-][\w.-]*\.int8\.json$/, 'must be a plain file name ending in .int8.json');

const smallFile = z.string().regex(/^[\w-][\w.-]*\.i8$/, 'must be a plain file name ending in .i8');

const coordinate = z.number().min(0);
const point = z.tuple([coordinate, coordinate]);

interface AlignedFace {
  size: number;
  template: [x: number, y: number][];
}

const isInside = ({ size, template }: AlignedFace) => template.flat().every((number) => number <= size);

/** Returns true for an upright face: the eyes are not swapped, and the mouth is at least a pixel below the eyes. */
function isUpright({ template }: AlignedFace): boolean {
  const [right, left, , ...mouth] = template;
  const [mouthRight, mouthLeft] = mouth;
  if (!right || !left || !mouthRight || !mouthLeft) return false;
  return (mouthRight[1] + mouthLeft[1] - right[1] - left[1]) / 2 >= 1 && right[0] < left[0];
}

const templateError = (error: string) => ({ path: ['template'], error });

const calibration = z.strictObject({
  fitted_on: name,
  /** Pairs of normalised similarity and false match rate. Similarities increase, and rates decrease from 1. */
  points: z.array(z.tuple([z.number(), z.number().gt(0).max(1)])).min(2),
  /** Minimum false match rate that the calibration data can support. Lower rates are reported as this rate. */
  floor: z.number().gt(0).max(0.1),
  /** Increase of non-mated similarity if a side is the mean of 1, 2, … photos of a person. The first value is 0. */
  photos: z
    .array(z.number().min(0).max(1))
    .min(2)
    .max(16)
    .refine(isRising, 'must be in ascending order and begin with 0')
    .exactOptional(),
});

function isRising(shifts: readonly number[]): boolean {
  return shifts.every((shift, i) => (i === 0 ? shift === 0 : shift >= shifts[i - 1]!));
}

/** A linear function of the embedding e: score = scale × Σ byteᵢ × eᵢ + bias. */
const linear = {
  /** One signed byte per dimension. */
  file: smallFile,
  sha256: sha256Hex,
  licence: name,
  scale: factor,
  bias: number,
  fitted_on: name,
};

const members = {
  name,
  version: name,
  description: name,
  source,
  detector,
  /** Finds faces that fill the image. If it has the same family as the detector, it also searches every image. */
  close_detector: detector.optional(),
  landmarks: z.strictObject({
    ...net,
    ...preprocessing,
    family: z.enum(['points68']),
    output: name,
    size: cropPixels,
    channels: z.enum(['grey']),
    /** Side of the square crop relative to the longer side of the face's box. */
    crop: z.number().min(0.1).max(10),
    /** A face whose eye line is tilted by a larger angle is rotated upright, and its landmarks are found again. */
    upright_degrees: z.number().min(0).max(180),
    /** Maximum distance of a clear upright face from the embedder's template. Rotated faces usually exceed it. */
    clear_template_error: share.default(0.1),
    /**
     * Maximum movement of an upright face's landmarks when the crop moves, relative to the sides of its box. Larger
     * movements show that the detection is not a face. `quick`: with a few perturbations; `thorough`: with all;
     * `closeup`: with all, in a close-up; `close_detector`: for faces of the close detector.
     */
    max_instability: z
      .strictObject({ quick: share, thorough: share, closeup: share, close_detector: share })
      .default({ quick: 0.021, thorough: 0.02, closeup: 0.023, close_detector: 0.1 }),
  }),
  embedder: z
    .strictObject({
      ...net,
      ...preprocessing,
      ...colours,
      family: z.enum(['arcface']),
      output: name,
      size: cropPixels,
      dimensions: z.int().min(1).max(4096),
      /** Positions in the aligned face: right eye, left eye, nose, right and left corner of the mouth. */
      template: z.tuple([point, point, point, point, point]),
      /** Plan by which the model is quantised to int8; models/prepare/int8/index.ts describes it. */
      int8: z.strictObject({ file: planName, sha256: sha256Hex }).optional(),
    })
    .refine(isInside, templateError('must be inside the aligned face'))
    .refine(
      isUpright,
      templateError("must have the person's left eye right of the right eye, and the mouth below the eyes"),
    ),
  /** Distinguishes human faces from faces of animals. Faces below `threshold` are dropped. */
  human: z.strictObject({ ...linear, threshold: number }).optional(),
  /** Detects that nose and mouth are covered: the score is then above 0. */
  occlusion: z.strictObject(linear).optional(),
  /** Runs only for requests with a liveness option. A pack without this member rejects them. */
  liveness: liveness.optional(),
  /** Centres for the normalisation of similarities, from `facematch calibrate`. Without it, the cosine is used. */
  cohort: z
    .strictObject({
      file: smallFile,
      sha256: sha256Hex,
      licence: name,
      /** Rows of signed bytes. */
      centres: z.int().min(1).max(16_384),
      /** Number of the highest cosines with the centres. A face's cohort score is `weight` times their mean. */
      highest: z.int().min(1).max(16_384),
      /** See `highest`. */
      weight,
    })
    .optional(),
  min_det_score: share,
};

const calibrations = z.strictObject(
  { fast: calibration, balance: calibration },
  {
    error: ({ input }) =>
      input === undefined ? 'is missing; fit it with: npx facematch calibrate … --write' : undefined,
  },
);

const calibratedSchema = z.strictObject({ ...members, calibration: calibrations });
const manifestSchema = z.strictObject({ ...members, calibration: calibrations.optional() });

export type CalibratedManifest = z.infer<typeof calibratedSchema>;
/** A pack that may have no calibration. Without one, `confidence_percent` never exceeds 40. */
export type Manifest = z.infer<typeof manifestSchema>;
export type PackNet = NonNullable<Manifest[Role]>;
export type PackSource = Manifest['source'];

/** Models that a pack may have, in the order in which they process an image. */
export const roles = ['detector', 'close_detector', 'landmarks', 'embedder'] as const;
export type Role = (typeof roles)[number];

/** Models that the pack has, in the order of `roles`. */
export function packNets(manifest: Manifest): Map<Role, PackNet> {
  return new Map(
    roles.flatMap((role): [Role, PackNet][] => {
      const { [role]: net } = manifest;
      return net ? [[role, net]] : [];
    }),
  );
}

/** Returns the source of a model: its own or the pack's. Returns undefined for a model of another pack. */
export function sourceOf(manifest: Manifest, net: PackNet): PackSource | undefined {
  return typeof net.from === 'string' ? (net.source ?? manifest.source) : undefined;
}

/**
 * Returns the directory of a pack. A value with a slash or a leading dot is a path, any other a name under
 * models/packs.
 */
export function packDirectory(nameOrPath: string): string {
  if (isAbsolute(nameOrPath) || /[\\/]|^\./.test(nameOrPath)) return resolve(nameOrPath);
  if (nameOrPath === '')
    throw new Error('Expected the name or the path of a model pack but received nothing');
  return productPath(join('models', 'packs', nameOrPath));
}

/** Reads a manifest with a calibration. Throws an Error whose message names the file and the invalid members. */
export function readCalibratedManifest(directory: string): CalibratedManifest {
  return parseAs(calibratedSchema, ...textOf(directory));
}

/** Does the same as readCalibratedManifest for the text of a file. */
export const parseCalibratedManifest = (text: string, file: string): CalibratedManifest =>
  parseAs(calibratedSchema, text, file);

/** Does the same as readCalibratedManifest, but accepts a pack without a calibration. */
export const readManifest = (directory: string): Manifest => parseAs(manifestSchema, ...textOf(directory));

function textOf(directory: string): [text: string, file: string] {
  const file = join(directory, 'manifest.json');
  try {
    return [readFileSync(file, 'utf8'), file];
  } catch (error) {
    const what = `There is no model pack in ${directory}: cannot read ${file} (${codeOf(error)})`;
    throw new Error(`${what}. List the installed packs: facematch packs list`, { cause: error });
  }
}

function parseAs<T>(schema: z.ZodType<T>, text: string, file: string): T {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new Error(`${file} is not valid JSON: ${(error as Error).message}`, { cause: error });
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    const wrong = parsed.error.issues.map(
      ({ path, message }) => `  ${path.map(String).join('.') || 'the manifest'}: ${message}`,
    );
    throw new Error(`${file} is not a valid pack manifest:\n${wrong.join('\n')}`);
  }
  return parsed.data;
}

export const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'unknown error';
