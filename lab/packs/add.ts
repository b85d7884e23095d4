import { randomUUID } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import {
  betterPreprocessing,
  type CalibratedManifest,
  packDirectory,
  packNets,
  type Role,
  readCalibratedManifest,
  readManifest,
  sha256,
  tryAs,
  tryPack,
  verifyPack,
} from 'facematch/for-lab';
import { jsonText } from '../number-text.ts';
import type { DescribedDetector } from './describe.ts';
import { type AddOptions, describeOwn, descriptionOf, type OwnNets } from './own-nets.ts';

export type Added = Awaited<ReturnType<typeof addPack>>;

const files: Record<Role, string> = {
  detector: 'detect.onnx',
  close_detector: 'detect-close.onnx',
  landmarks: 'landmark.onnx',
  embedder: 'embed.onnx',
};

/** Returns the folder of a new pack with that name. Throws an Error if the folder exists. */
export function freeDirectory(nameOrPath: string): string {
  const target = packDirectory(nameOrPath);
  if (existsSync(target)) throw new Error(`${target} already exists. Remove it, or choose another name.`);
  return target;
}

type Members = Record<string, unknown>;

/**
 * Creates a pack from the user's models, and from the default pack's for the other roles. Creates it in a temporary
 * folder, and moves it into place after it has processed the sample photos. Rejects with an Error whose message is
 * meant for the user.
 */
export async function addPack(nameOrPath: string, options: AddOptions) {
  const directory = freeDirectory(nameOrPath);
  const base = packDirectory('default');
  const shared = readCalibratedManifest(base);
  // Reports errors of the default pack first, because reading a large model takes minutes.
  await verifyPack(base, shared);
  const own = describeOwn(options, shared);
  return moveWhenMade(directory, async (made) => {
    const pack = basename(directory);
    const manifest = {
      ...manifestHead(pack, options),
      ...copyNets(made, options, own.nets, shared),
      min_det_score: shared.min_det_score,
      ...copyScores(made, options, shared),
      ...copyLiveness(made, options, own),
    };
    const detector = await bestDetector(made, manifest, own.detectors);
    writeManifest(made, withDetector(manifest, detector));
    const draft = readManifest(made);
    const trial = await tryPack(made, draft);
    if (detector !== undefined && trial.overlap < minOverlap) {
      throw new Error(
        `${options.detector} finds none of the six faces in the sample photos, decoded as family ${detector.members.family}` +
          `${options.detectorFamily === undefined ? ', which matches its output shapes' : ''}. It probably belongs to another family: set ` +
          '--detector-family, or see docs/packs.md for the supported detectors.',
      );
    }
    const isOwnEmbedder = options.embedder !== undefined;
    return {
      pack,
      directory,
      assumed: [...(detector?.assumed ?? []), ...own.assumed],
      trial,
      liveness: draft.liveness,
      // A pack with only the default pack's face models has a copy of its calibration.
      calibrated: draft.calibration !== undefined,
      better_preprocessing: isOwnEmbedder ? await betterPreprocessing(made, draft, trial) : undefined,
    };
  });
}

const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Creates a temporary folder next to `directory`, and renames it to `directory` after `make` resolves. Removes the
 * temporary folder after an error or a signal.
 */
async function moveWhenMade<Result>(directory: string, make: (made: string) => Promise<Result>) {
  mkdirSync(dirname(directory), { recursive: true });
  const made = join(dirname(directory), `.adding-${randomUUID()}`);
  const remove = () => rmSync(made, { recursive: true, force: true });
  const end = (signal: NodeJS.Signals) => {
    remove();
    process.kill(process.pid, signal);
  };
  for (const signal of endings) process.once(signal, end);
  try {
    mkdirSync(made);
    const result = await make(made);
    renameSync(made, directory);
    return result;
  } catch (error) {
    throw new Error(`${(error as Error).message.replaceAll(made, directory)}\nNothing was added.`, {
      cause: error,
    });
  } finally {
    for (const signal of endings) process.off(signal, end);
    remove();
  }
}

function manifestHead(pack: string, options: AddOptions): Members {
  const { licence, source } = options;
  return {
    name: pack,
    version: '1.0.0',
    description: descriptionOf(options),
    source: {
      kind: 'project',
      project: source,
      commit: 'not stated',
      licence,
      licence_note: 'as given to facematch packs add',
      get: 'Ask whoever added this pack for the files.',
    },
  };
}

/**
 * Copies the models, and returns their members of the manifest in the order of use. The detector's members are
 * incomplete until bestDetector has chosen its family.
 */
function copyNets(
  made: string,
  { licence }: AddOptions,
  own: OwnNets['nets'],
  shared: CalibratedManifest,
): Record<string, Members> {
  const members = [...packNets(shared)].flatMap(([role, net]): [Role, Members][] => {
    const ownNet = own[role];
    if (ownNet !== undefined) {
      const file = files[role];
      const hash = copyOwn(made, ownNet.path, file);
      const hashes = { source_sha256: hash, sha256: hash };
      const from = { file, from: basename(ownNet.path), ...hashes, licence };
      return [[role, { ...ownNet.members, ...from }]];
    }
    // The default pack's close detector finds the faces that the default detector misses.
    if (role === 'close_detector' && own.detector !== undefined) return [];
    copyShared(made, net.file);
    const rest: Members = { ...net, from: { pack: 'default' } };
    delete rest.source;
    return [[role, rest]];
  });
  return Object.fromEntries(members);
}

/**
 * Copies the default pack's human check and occlusion score if the pack computes the same embeddings. Copies its
 * cohort and calibration only if all face models are the same.
 */
function copyScores(
  made: string,
  { detector, landmarks, embedder }: AddOptions,
  shared: CalibratedManifest,
): Members {
  const isSameEmbedding = embedder === undefined && landmarks === undefined;
  const isSame = isSameEmbedding && detector === undefined;
  const kept = (['human', 'occlusion', 'cohort'] as const).flatMap((role) => {
    const score = shared[role];
    if (score === undefined || !(role === 'cohort' ? isSame : isSameEmbedding)) return [];
    copyShared(made, score.file);
    return [[role, score]];
  });
  return { ...Object.fromEntries(kept), ...(isSame && { calibration: shared.calibration }) };
}

function copyLiveness(made: string, { licence }: AddOptions, { liveness }: OwnNets): Members {
  if (liveness === undefined) return {};
  const nets = liveness.nets.map(({ path, members }, index) => {
    const file = `live-${index + 1}.onnx`;
    return { file, sha256: copyOwn(made, path, file), licence, ...members };
  });
  return { liveness: { family: liveness.family, nets } };
}

const copyShared = (made: string, file: string) =>
  copyFileSync(join(packDirectory('default'), file), join(made, file));

/** Copies a file of the user, and returns its SHA-256. */
function copyOwn(made: string, path: string, file: string): string {
  copyFileSync(path, join(made, file));
  return sha256(readFileSync(path));
}

function withDetector(manifest: Members, described: DescribedDetector | undefined): Members {
  if (described === undefined) return manifest;
  const { members, min_det_score } = described;
  return { ...manifest, detector: { ...members, ...(manifest.detector as Members) }, min_det_score };
}

function writeManifest(made: string, manifest: Members): void {
  writeFileSync(join(made, 'manifest.json'), `${jsonText(manifest)}\n`);
}

/** The mean overlap exceeds this if the detector finds at least one of the six faces. */
const minOverlap = 0.05;

/**
 * The mean intersection over union of the boxes of two detectors exceeds this if both decode their outputs correctly.
 */
const clearOverlap = 0.4;

/**
 * Chooses the detector family whose boxes match the faces in the sample photos best.
 */
async function bestDetector(made: string, manifest: Members, candidates: readonly DescribedDetector[]) {
  const [first, ...others] = candidates;
  if (others.length === 0) return first;
  let best: { candidate: DescribedDetector; overlap: number } | undefined;
  for (const candidate of candidates) {
    writeManifest(made, withDetector(manifest, candidate));
    const { overlap } = await tryAs(made, readManifest(made));
    if (best === undefined || overlap > best.overlap) best = { candidate, overlap };
  }
  const { candidate, overlap } = best!;
  const names = candidates.map(({ members }) => members.family).join(', ');
  const judged =
    overlap > clearOverlap
      ? `${candidate.members.family} finds the faces in the sample photos`
      : `none finds the faces in the sample photos, so ${candidate.members.family} is a guess`;
  const line = `detector: its output shapes match the families ${names}; ${judged} (overlap ${overlap.toFixed(2)})`;
  return { ...candidate, assumed: [...candidate.assumed, line] };
}
