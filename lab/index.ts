import type { LabCommands } from 'facematch/for-lab';
import { registerCalibrate } from './commands/calibrate.ts';
import { registerEval } from './commands/eval.ts';
import { registerEvalLiveness } from './commands/eval-liveness.ts';
import { registerAdd, registerPull } from './commands/packs.ts';

/** The commands of the laboratory, which facematch adds to its command line. */
export const commands: LabCommands = {
  eval: registerEval,
  'eval-liveness': registerEvalLiveness,
  calibrate: registerCalibrate,
  add: registerAdd,
  pull: registerPull,
};
