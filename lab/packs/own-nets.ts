import { basename } from 'node:path';
import type { CalibratedManifest, LivenessFamily, Preprocessing, Role } from 'facematch/for-lab';
import {
  type Described,
  type DescribedDetector,
  describeDetector,
  describeEmbedder,
  describeLandmarks,
  describeLiveness,
} from './describe.ts';

/** Models that a user provides: the command line's description of them, and the manifest's. */

/** A model for presentation attack detection, and the sides of its crop relative to the sides of the face. */
export interface LivenessFile {
  file: string;
  scale: number;
}

export interface AddOptions {
  detector?: string;
  embedder?: string;
  landmarks?: string;
  detectorFamily?: string;
  preprocessing?: Preprocessing;
  embedderOutput?: string;
  liveness?: LivenessFile[];
  livenessFamily?: LivenessFamily;
  licence: string;
  source: string;
}

/** A net of the user's: its file, and the members that describe it. */
interface OwnNet {
  path: string;
  members: Record<string, unknown>;
}

export interface OwnNets {
  nets: Partial<Record<Role, OwnNet>>;
  /**
   * The possible ways to decode the detector, most likely first: shapes of outputs fit several families.
   * Empty without a detector.
   */
  detectors: DescribedDetector[];
  liveness: { family: LivenessFamily; nets: OwnNet[] } | undefined;
  /** One line for each assumption that the files do not confirm. */
  assumed: string[];
}

/** Inspects the files. Throws an Error with a message for people. */
export function describeOwn(options: AddOptions, shared: CalibratedManifest): OwnNets {
  const { detector, landmarks, embedder, detectorFamily, embedderOutput, preprocessing } = options;
  const nets: OwnNets['nets'] = {};
  const assumed: string[] = [];
  const take = (role: Role, path: string, { members, assumed: lines }: Described) => {
    nets[role] = { path, members };
    assumed.push(...lines);
  };
  const detectors = detector === undefined ? [] : describeDetector(detector, detectorFamily);
  // Its members are known when it has been tried.
  if (detector !== undefined) nets.detector = { path: detector, members: {} };
  if (landmarks !== undefined) take('landmarks', landmarks, landmarksLike(shared, landmarks));
  if (embedder !== undefined) {
    const described = describeEmbedder(embedder, { output: embedderOutput, preprocessing });
    const template = templateFor(shared, described.members.size as number);
    take('embedder', embedder, { ...described, members: { template, ...described.members } });
  }
  const { liveness, lines } = describeLivenessNets(options);
  assumed.push(...lines, ...sharedLines(options));
  return { nets, detectors, liveness, assumed };
}

function landmarksLike({ landmarks: shared }: CalibratedManifest, file: string): Described {
  const { mean, scale, crop, upright_degrees, clear_template_error, max_instability } = shared;
  const { members, assumed } = describeLandmarks(file);
  const same = { mean, scale, crop, upright_degrees, clear_template_error, max_instability };
  return { members: { ...same, ...members }, assumed };
}

/** All must belong to one family, because a pack's score is their mean. */
function describeLivenessNets({ liveness = [], livenessFamily: known }: AddOptions) {
  const all = liveness.map(({ file, scale }) => ({ path: file, ...describeLiveness(file, scale, known) }));
  const [family, ...others] = new Set(all.map((one) => one.family));
  if (others.length > 0) {
    const names = all.map((one) => `${basename(one.path)} ${one.family}`).join(', ');
    throw new Error(`The nets given with --liveness must be of one family, and are ${names}`);
  }
  const nets = all.map(({ path, members }) => ({ path, members }));
  return { liveness: family && { family, nets }, lines: all.flatMap(({ assumed }) => assumed) };
}

function sharedLines(options: AddOptions): string[] {
  const others = (['detector', 'landmarks', 'embedder'] as const).filter(
    (role) => options[role] === undefined,
  );
  return [
    ...(others.length > 0 ? [`${others.join(', ')}: the default pack's`] : []),
    ...(others.includes('landmarks') && others.includes('embedder')
      ? ["human check, occlusion: the default pack's, because faces are embedded as there"]
      : []),
    ...(others.length === 3 ? ["cohort, calibration: the default pack's, with all of its nets"] : []),
  ];
}

/** Returns ArcFace's points in an aligned face of this side. */
function templateFor({ embedder: { template, size } }: CalibratedManifest, side: number): number[][] {
  return template.map((point) => point.map((value) => Number(((value * side) / size).toFixed(4))));
}

export function descriptionOf({ detector, landmarks, embedder, liveness = [] }: AddOptions): string {
  const named = Object.entries({ detector, landmarks, embedder });
  const live = liveness.map(({ file }) => ['liveness', file] as const);
  const own = [...named, ...live].flatMap(([role, file]) => (file ? [`${role} ${basename(file)}`] : []));
  return `${own.join(', ')}; the rest is the default pack's`;
}
