/** Exports for the laboratory, the package @facematch/lab, which imports nothing else from this package. */

export { describeFinding } from './cli/doctor/finding.ts';
export { drawFaces } from './cli/drawing.ts';
export { codeOf, namesBelow, openable } from './cli/files.ts';
export { addHelp, exitCodes } from './cli/help.ts';
export type { LabCommands } from './cli/laboratory.ts';
export { matchFlag } from './cli/match-flags.ts';
export { judgeTrial, livenessFinding, preprocessingWarning } from './cli/packs/check.ts';
export {
  betterPreprocessing,
  embeddingPart,
  type InputScaling,
  type Preprocessing,
  preprocessings,
  tryAs,
  tryPack,
} from './cli/packs/trial.ts';
export { activity, coloursFor, columns, count, printable, progressBar, withBar } from './cli/terminal.ts';
export { readConfig } from './config/config.ts';
export { lowQuality, qualityLimits } from './endpoints/face-quality.ts';
export { defaults } from './endpoints/options.ts';
export {
  type AccuracyMode,
  accuracyModes,
  type Face,
  type ImageFormat,
  type ImageReport,
  type NetFacts,
  type TensorFacts,
} from './engine/addon.ts';
export { excerpt } from './engine/client-input.ts';
export { type FamilyName, families, type LivenessFamily, livenessFamilies } from './engine/families.ts';
export { loadAddon, loadPack } from './engine/load-addon.ts';
export {
  type CalibratedManifest,
  packDirectory,
  packNets,
  type Role,
  readCalibratedManifest,
  readManifest,
} from './engine/manifest.ts';
export { sha256, verifyPack } from './engine/pack-files.ts';
export { threadOptions } from './engine/worker-thread.ts';
export { Calibration, type CalibrationPoint, calibrationOf, promisedRate } from './scoring/calibration.ts';
export {
  type FramePair,
  judgeMotion,
  liveReasons,
  type MotionFrame,
  type MotionVerdict,
  motionFrame,
  motionThresholds,
  type Step,
  steps,
} from './scoring/motion.ts';
export { comparePersons, inOneArray } from './scoring/persons.ts';
export { dot, type Embedded, meanOf, normalised, similarityOf } from './scoring/similarity.ts';
export { Html, html } from './site/html.ts';
