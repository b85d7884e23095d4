import { z } from 'zod';
import type { OnnxRuntime } from '../engine/addon.ts';
import type { Manifest } from '../engine/manifest.ts';
import type { PackFile } from '../engine/pack-files.ts';
import { define, prefix } from './endpoint.ts';
import { listOf, object, share, text, word } from './schema.ts';

/** Returns the loaded pack, so that clients can detect a change of the pack. */

const roles: Record<PackFile['role'], string> = {
  detector: 'finds faces',
  close_detector: 'finds faces that fill the image',
  landmarks: 'finds eyes, nose and mouth',
  embedder: 'computes the embedding of a face',
  cohort: 'normalises similarities, so that one threshold suits different groups of people',
  human: 'distinguishes human faces from those of animals',
  occlusion: 'detects faces whose nose and mouth are covered',
  liveness: 'scores faces as live, or as shown on a photo or a screen, on request',
};

const sources: Record<Manifest['source']['kind'], string> = {
  npm: 'a package of the npm registry',
  project: 'a project whose files the operator downloads',
};

const rate = z.number().positive();

export const Calibration = object('Calibration table: similarity to false match rate.', {
  fitted_on: text('Pairs of images that the table was fitted on'),
  points: listOf(
    z
      .tuple([z.number().describe('Normalised similarity'), rate.max(1).describe('False match rate')])
      .describe('A normalised similarity and the rate at which different people reach it'),
    'Points in order of rising similarity; the logarithm of the rate is interpolated linearly',
  ).min(2),
  floor: rate
    .max(0.1)
    .describe('Lowest false match rate that was measured; results beyond it are `extrapolated`'),
  photos: listOf(
    share,
    'Increase of the non-mated similarity (different people) if a side is the mean of 1, 2, … photos; absent if not measured',
  )
    .min(2)
    .exactOptional(),
});

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const Models = object('The model pack that is loaded.', {
  pack: text('Name of the model pack'),
  version: text('Version; results may differ between versions'),
  description: text('Contents of the pack'),
  source: object('Origin of the models of the pack', {
    kind: word(sources, 'Kind of source.'),
    name: text('Name'),
    version: text('Version or commit'),
    licence: text('Licence, as stated by the source'),
  }),
  runtime: object('Inference runtime', {
    onnxruntime: text('Version of ONNX Runtime'),
    providers: listOf(
      z.string(),
      'Execution providers in order of preference (FACEMATCH_EXECUTION_PROVIDERS); default `cpu`',
    ).min(1),
  }),
  files: listOf(
    z.object({
      role: word(roles, 'Purpose of the model.'),
      file: text('File name'),
      pack: text('Model pack that contains the file: the loaded pack, or a pack that shares the file'),
      licence: text('Licence'),
      sha256: sha256.describe('SHA-256 of the loaded file'),
      source_sha256: sha256.describe('SHA-256 of the file as its authors published it'),
    }),
    'Models in the order of processing, then the other files',
  ),
  min_det_score: share.describe('Default of the form field `min_det_score`'),
  human: object('Check for human faces; absent if the pack has none', {
    threshold: z.number().describe('Threshold: faces with a lower `human_score` are dropped'),
    fitted_on: text('Images that the check was fitted on'),
  }).exactOptional(),
  liveness: object('Liveness models; absent if the pack has none', {
    live_threshold: share.describe('Default of the form field `live_threshold`'),
  }).exactOptional(),
  calibration: object(
    'One table for each accuracy mode; absent if the pack is not calibrated, in which case responses have the warning `uncalibrated`',
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
    ...(human === undefined ? {} : { human: { threshold: human.threshold, fitted_on: human.fitted_on } }),
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
      'Returns the loaded model pack: name, version, origin, licence and checksum of each model, and the calibration.',
    curl: [],
  },
  buildResponse: ({ manifest, files, runtime }) => ({ body: bodyOf(manifest, files(), runtime()) }),
});
