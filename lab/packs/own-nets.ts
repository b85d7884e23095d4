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

/** Converts the model files of `packs add` to members of the manifest. */

/** A model for presentation attack detection. `scale` is the size of its crop relative to the face. */
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

/** A model of the user: its file, and its members of the manifest. */
interface OwnNet {
  path: string;
  members: Record<string, unknown>;
}

export interface OwnNets {
  nets: Partial<Record<Role, OwnNet>>;
  /** Families that the detector's output shapes match, the most likely first. Empty without a detector. */
  detectors: DescribedDetector[];
  liveness: { family: LivenessFamily; nets: OwnNet[] } | undefined;
  /** One line for each assumption that the files do not confirm. */
  assumed: string[];
}

/** Inspects the files. Throws an Error whose message is meant for the user. */
export function describeOwn(options: AddOptions, shared: CalibratedManifest): OwnNets {
  const { detector, landmarks, embedder, detectorFamily, embedderOutput, preprocessing } = options;
  const nets: OwnNets['nets'] = {};
  const assumed: string[] = [];
  const addNet = (role: Role, path: string, { members, assumed: lines }: Described) => {
    nets[role] = { path, members };
    assumed.push(...lines);
  };
  const detectors = detector === undefined ? [] : describeDetector(detector, detectorFamily);
  // addPack adds the members after it has chosen the family.
  if (detector !== undefined) nets.detector = { path: detector, members: {} };
  if (landmarks !== undefined) addNet('landmarks', landmarks, landmarksLike(shared, landmarks));
  if (embedder !== undefined) {
    const described = describeEmbedder(embedder, { output: embedderOutput, preprocessing });
    const template = templateFor(shared, described.members.size as number);
    addNet('embedder', embedder, { ...described, members: { template, ...described.members } });
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

/** Throws unless all models belong to one family, because a pack's live score is the mean of their scores. */
function describeLivenessNets({ liveness = [], livenessFamily: known }: AddOptions) {
  const all = liveness.map(({ file, scale }) => ({ path: file, ...describeLiveness(file, scale, known) }));
  const [family, ...others] = new Set(all.map((one) => one.family));
  if (others.length > 0) {
    const names = all.map((one) => `${basename(one.path)} ${one.family}`).join(', ');
    throw new Error(`The --liveness models must belong to one family, but belong to two or more: ${names}`);
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
      ? ["human check, occlusion: the default pack's, because the embeddings are the same"]
      : []),
    ...(others.length === 3
      ? ["cohort, calibration: the default pack's, because all face models are the same"]
      : []),
  ];
}

/** Returns ArcFace's five points, scaled to an aligned face with this side. */
function templateFor({ embedder: { template, size } }: CalibratedManifest, side: number): number[][] {
  return template.map((point) => point.map((value) => Number(((value * side) / size).toFixed(4))));
}

export function descriptionOf({ detector, landmarks, embedder, liveness = [] }: AddOptions): string {
  const named = Object.entries({ detector, landmarks, embedder });
  const live = liveness.map(({ file }) => ['liveness', file] as const);
  const own = [...named, ...live].flatMap(([role, file]) => (file ? [`${role} ${basename(file)}`] : []));
  return `${own.join(', ')}; the rest is the default pack's`;
}
