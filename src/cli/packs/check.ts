import type { StageTimings } from '../../engine/addon.ts';
import { type Manifest, packDirectory, readCalibratedManifest, readManifest } from '../../engine/manifest.ts';
import { verifyPack } from '../../engine/pack-files.ts';
import { type Finding, fail, firstLine, ok, unknown, warning } from '../doctor/finding.ts';
import {
  betterPreprocessing,
  enoughFaces,
  margin,
  type Preprocessing,
  type Trial,
  timePacks,
  tryPack,
} from './trial.ts';

/** Checks that a pack does what its manifest says, and lists what is missing. */
export async function* checkPack(nameOrPath: string): AsyncGenerator<Finding> {
  const directory = packDirectory(nameOrPath);
  let draft: Manifest;
  let trial: Trial;
  try {
    draft = readManifest(directory);
    yield ok('manifest', `${draft.name} ${draft.version} in ${directory}`);
    await verifyPack(directory, draft);
    yield ok('files', 'have the SHA-256 of the manifest');
    trial = await tryPack(directory, draft);
    yield ok('models', 'load, and have the shapes in the manifest');
  } catch (error) {
    yield fail('pack', (error as Error).message.replaceAll(/\s*\n\s*/g, ' '), 'See docs/packs.md');
    return;
  }
  yield* judgeTrial(trial);
  if (draft.liveness !== undefined) yield livenessFinding(draft.liveness, trial);
  if (typeof draft.embedder.from === 'string') {
    const better = await betterPreprocessing(directory, draft, trial);
    if (better !== undefined) yield preprocessingWarning(better);
  }
  yield await timing(directory, draft);
  yield* missing(draft);
}

/** Judges the results on the sample photos. */
export function* judgeTrial(trial: Trial): Generator<Finding> {
  const { faces, mated, non_mated } = trial;
  const found = `${faces.join(' and ')}, of 3 in each of the two sample photos`;
  yield enoughFaces(trial)
    ? ok('faces', found)
    : fail('faces', found, "Correct the detector's parameters: family, mean, scale, channels, min_det_score");
  if (mated === undefined || non_mated === undefined) {
    yield unknown('likeness', 'the woman who is in both photos was not found');
    return;
  }
  const likeness = `mated cosine ${mated.toFixed(2)} (the woman in both photos), highest non-mated cosine ${non_mated.toFixed(2)}`;
  yield margin(trial) > 0
    ? ok('likeness', likeness)
    : fail(
        'likeness',
        likeness,
        "Correct the embedder's parameters: mean, scale, channels, template, output",
      );
}

/**
 * Judges the live scores. All faces of the sample photos are bona fide. If the model rejects more than half of
 * them, its input is wrong or its output is misread.
 */
export function livenessFinding(
  { nets, live_threshold }: NonNullable<Manifest['liveness']>,
  { live_scores }: Trial,
): Finding {
  const files = nets.map(({ file, scale }) => `${file} at ${scale}`).join(', ');
  const below = live_scores.filter((score) => score < live_threshold).length;
  const scores = live_scores.map((score) => score.toFixed(2)).join(', ');
  const value = `${files}; the faces of the sample photos score ${scores}, ${below} of ${live_scores.length} below ${live_threshold}`;
  return below <= live_scores.length / 2
    ? ok('liveness', value)
    : warning(
        'liveness',
        value,
        'Correct the family of the models (packs add --liveness-family), or their scale',
      );
}

export function preprocessingWarning(better: Preprocessing): Finding {
  const value = `with the preprocessing of ${better}, the embedder separates the people of the two photos much better; this is an estimate from nine pairs`;
  return warning(
    'preprocessing',
    value,
    `Try it on your own pairs: packs add --preprocessing ${better} --try PAIRS.tsv:DIR`,
  );
}

async function timing(directory: string, draft: Manifest): Promise<Finding> {
  try {
    const base = packDirectory('default');
    const shared = readCalibratedManifest(base);
    await verifyPack(base, shared);
    const [own, known] = timePacks([
      { directory, draft },
      { directory: base, draft: shared },
    ]);
    const [mine, theirs] = [total(own!), total(known!)];
    const stages = Object.entries(own!).map(([stage, ms]) => `${stage} ${ms.toFixed(1)}`);
    const beside = `${(mine / theirs).toFixed(2)} times the default pack's ${theirs.toFixed(1)} ms`;
    return ok('time', `${mine.toFixed(1)} ms for a photo of three people (${stages.join(', ')}), ${beside}`);
  } catch (error) {
    return unknown('time', `the default pack cannot be compared: ${firstLine(error)}`);
  }
}

const total = (stages: StageTimings) => Object.values(stages).reduce((sum, ms) => sum + ms, 0);

const calibrationFix = 'FACEMATCH_PACK=… facematch calibrate NAME=FOLDER --write; see docs/packs.md';

/** Lists the features that the pack lacks. */
function* missing(draft: Manifest): Generator<Finding> {
  const { calibration, source } = draft;
  yield calibration === undefined
    ? warning('calibration', 'none: confidence_percent never exceeds 40', calibrationFix)
    : ok('calibration', calibration.balance.fitted_on);
  const others = [
    ['cohort', 'cohort', 'error rates differ more between demographic groups', calibrationFix],
    [
      'human',
      'human check',
      'faces of animals and drawings are compared if the detector finds them',
      'calibrate --without-people FOLDER',
    ],
    ['occlusion', 'occlusion', 'masks are not reported', 'calibrate --occluded NAME=FOLDER'],
    ['close_detector', 'close detector', 'faces that fill the image may be missed', 'See models/README.md'],
  ] as const;
  for (const [member, what, effect, fix] of others) {
    if (draft[member] === undefined) yield warning(what, `none: ${effect}`, fix);
  }
  if (source.licence === 'not stated') {
    yield warning('licence', 'not stated', 'Write it into the manifest; GET models shows it');
  }
}
