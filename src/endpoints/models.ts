import { z } from 'zod';
import type { OnnxRuntime } from '../engine/addon.ts';
import type { Manifest } from '../engine/manifest.ts';
import type { PackFile } from '../engine/pack-files.ts';
import { define, prefix } from './endpoint.ts';
import { listOf, object, share, text, word } from './schema.ts';

/** The loaded pack, so that a client can tell when it changes. */

const roles: Record<PackFile['role'], string> = {
  detector: 'finds faces',
  close_detector: 'finds faces that fill the image',
  landmarks: 'finds eyes, nose and mouth',
  embedder: 'turns a face into a vector',
  cohort: 'normalises similarities, so that one threshold serves different groups of people',
  human: 'tells human faces from those of animals',
  occlusion: 'tells faces whose nose and mouth are covered',
  liveness: 'gives hints at photos and screens before the camera, to requests that ask',
};

const sources: Record<Manifest['source']['kind'], string> = {
  npm: 'a package of the npm registry',
  project: 'a project that publishes its files elsewhere',
};

const rate = z.number().positive();

export const Calibration = object('The table from similarity to false-match rate.', {
  fitted_on: text('The pairs of images that the table was made from'),
  points: listOf(
    z
      .tuple([
        z.number().describe('Similarity, normalised as the model pack does it'),
        rate.max(1).describe('False-match rate'),
      ])
      .describe('A similarity, and how often two different people score at least this high'),
    'Rising similarities, falling rates; between points the logarithm of the rate is linear',
  ).min(2),
  floor: rate
    .max(0.1)
    .describe(
      'The lowest false-match rate that the people of the fit can show; below it an answer is `extrapolated`',
    ),
  photos: listOf(
    share,
    'By how much strangers are more similar when a side is the mean of 1, 2 … photos of a person; absent where nobody measured it',
  )
    .min(2)
    .exactOptional(),
});

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const Models = object('The model pack that is loaded.', {
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
    providers: listOf(
      z.string(),
      'Its execution providers, in order of preference: `cpu` alone unless FACEMATCH_PROVIDER says otherwise',
    ).min(1),
  }),
  files: listOf(
    z.object({
      role: word(roles, 'What the net is for.'),
      file: text('Name of the file'),
      pack: text('The model pack that it belongs to: this one, or the one that it was taken over from'),
      licence: text('Its licence'),
      sha256: sha256.describe('SHA-256 of the file that is loaded'),
      source_sha256: sha256.describe('SHA-256 of the file as its authors published it'),
    }),
    'The nets in the order in which they process an image, then the other files',
  ),
  min_det_score: share.describe('Default of the form field `min_det_score`'),
  human: object('The check for human faces; absent when the pack takes every face', {
    bar: z.number().describe('The threshold: faces with a lower `human_score` are dropped'),
    fitted_on: text('The images that it was made from'),
  }).exactOptional(),
  liveness: object('The hint at presentation attacks; absent when the pack has none', {
    live_threshold: share.describe('Default of the form field `live_threshold`'),
  }).exactOptional(),
  calibration: object(
    'One table for each accuracy mode; absent when the pack is not calibrated: its answers then have the warning `uncalibrated`',
    { fast: Calibration, balance: Calibration },
  ).exactOptional(),
});

export type Models = z.infer<typeof Models>;

function bodyOf(manifest: Manifest, files: PackFile[], runtime: OnnxRuntime): Models {
  const { name, version, description, human, liveness, min_det_score, calibration, source } = manifest;
  return {
    pack: name,
    version,
    description,
    source:
      source.kind === 'npm'
        ? { kind: source.kind, name: source.package, version: source.version, licence: source.licence }
        : { kind: source.kind, name: source.project, version: source.commit, licence: source.licence },
    runtime: { onnxruntime: runtime.version, providers: runtime.providers },
    files,
    min_det_score,
    ...(human === undefined ? {} : { human: { bar: human.bar, fitted_on: human.fitted_on } }),
    ...(liveness === undefined ? {} : { liveness: { live_threshold: liveness.live_threshold } }),
    ...(calibration === undefined ? {} : { calibration }),
  };
}

export const models = define({
  id: 'models',
  method: 'GET',
  path: `${prefix}/models`,
  scope: 'any',
  takes: 'nothing',
  success: { description: 'The model pack', name: 'Models', schema: Models },
  docs: {
    tag: 'about',
    summary: 'Show the model pack',
    description:
      'Names the loaded model pack, the origin, licence and checksum of each net, and its calibration.',
    curl: [],
  },
  answer: ({ manifest, files, runtime }) => ({ body: bodyOf(manifest, files(), runtime()) }),
});
