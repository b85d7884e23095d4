import { z } from 'zod';
import type { modelsBody } from '../http/handlers.ts';
import { object, text, word } from './json-schema.ts';

/** The answer of GET models as a zod schema. */

export type ModelsBody = ReturnType<typeof modelsBody>;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const roles: Record<ModelsBody['files'][number]['role'], string> = {
  detector: 'finds faces',
  close_detector: 'finds faces that fill the picture',
  landmarks: 'finds eyes, nose and mouth',
  embedder: 'turns a face into a vector',
  cohort: 'normalises similarities, so that one threshold serves different groups of people',
  human: 'tells human faces from those of animals',
  occlusion: 'tells faces whose nose and mouth are covered',
};

const sources: Record<ModelsBody['source']['kind'], string> = {
  npm: 'a package of the npm registry',
  project: 'a project that publishes its files elsewhere',
};

export const Calibration = object('The table from similarity to false-match rate.', {
  fitted_on: text('The pairs of pictures that the table was made from'),
  points: z
    .array(
      z
        .tuple([
          z.number().describe('Similarity, normalised as the model pack does it'),
          z.number().positive().max(1).describe('False-match rate'),
        ])
        .describe('A similarity, and how often two different people score at least this high'),
    )
    .min(2)
    .describe('Rising similarities, falling rates; between points the logarithm of the rate is linear'),
  floor: z
    .number()
    .positive()
    .max(0.1)
    .describe(
      'The lowest false-match rate that the people of the fit can show; below it an answer is `extrapolated`',
    ),
});

export const Models = object('The model pack that is loaded.', {
  pack: text('Name of the model pack'),
  version: text('Its version; answers may differ between versions'),
  description: text('What it consists of'),
  source: object("The origin of the pack's own nets", {
    kind: word(sources, 'What it is.'),
    name: text('Its name'),
    version: text('Its version or commit'),
    licence: text('Its licence, as stated by it'),
  }),
  runtime: object('What runs the nets', {
    onnxruntime: text('Version of ONNX Runtime'),
    providers: z
      .array(z.string())
      .min(1)
      .describe(
        'Its execution providers, in order of preference: `cpu` alone unless FACEMATCH_PROVIDER says otherwise',
      ),
  }),
  files: z
    .array(
      z.object({
        role: word(roles, 'What the net is for.'),
        file: text('Name of the file'),
        pack: text('The model pack that it belongs to: this one, or the one that it was taken over from'),
        licence: text('Its licence'),
        sha256: sha256.describe('SHA-256 of the file that is loaded'),
        source_sha256: sha256.describe('SHA-256 of the file as its authors published it'),
      }),
    )
    .describe('The nets in the order in which they process an image, then the other files'),
  min_det_score: z.number().min(0).max(1).describe('Default of the form field `min_det_score`'),
  human: object('The check for human faces; absent when the pack takes every face', {
    bar: z.number().describe('The threshold: faces with a lower `human_score` are dropped'),
    fitted_on: text('The images that it was made from'),
  }).exactOptional(),
  calibration: object(
    'One table for each accuracy mode; absent when the pack is not calibrated: its answers then have the warning `pack_not_calibrated`',
    { fast: Calibration, balance: Calibration },
  ).exactOptional(),
});
