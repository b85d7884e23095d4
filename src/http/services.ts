import type { Calibration } from '../calibration.ts';
import type { Config } from '../config.ts';
import type { AccuracyMode } from '../engine/addon.ts';
import type { BodyMemory } from '../engine/body-memory.ts';
import type { MatchJob, MatchOutcome } from '../engine/messages.ts';
import type { PackManifest } from '../engine/pack.ts';
import type { JobQueue } from '../engine/queue.ts';
import type { Gate } from '../gate/gate.ts';
import type { Readiness } from '../readiness.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { UploadBudget } from './upload.ts';

/** What the handlers work with; made once, by src/server.ts. */
export interface Services {
  readonly config: Config;
  readonly gate: Gate;
  readonly manifest: PackManifest;
  readonly calibrations: Readonly<Record<AccuracyMode, Calibration>>;
  readonly queue: JobQueue<MatchJob, MatchOutcome>;
  readonly uploads: UploadBudget;
  readonly bodies: BodyMemory;
  readonly readiness: Readiness;
  readonly telemetry: Telemetry;
}
