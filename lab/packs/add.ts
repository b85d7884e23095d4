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
  betterFeeding,
  type CalibratedManifest,
  type Feeding,
  packDirectory,
  packNets,
  type Role,
  readCalibratedManifest,
  readManifest,
  sha256,
  tryPack,
  verifyPack,
} from 'facematch/for-lab';
import { manifestText } from '../write-fit.ts';
import { describeDetector, describeEmbedder, describeLandmarks, describeLiveness } from './describe.ts';

/** A net for presentation attacks, and the sides of its crop in sides of the face. */
export interface LivenessFile {
  file: string;
  scale: number;
}

export interface AddOptions {
  detector?: string;
  embedder?: string;
  landmarks?: string;
  family?: string;
  feeding?: Feeding;
  output?: string;
  liveness?: LivenessFile[];
  licence: string;
  project: string;
}

export type Added = Awaited<ReturnType<typeof addPack>>;

const files: Record<Role, string> = {
  detector: 'detect.onnx',
  close_detector: 'detect-close.onnx',
  landmarks: 'landmark.onnx',
  embedder: 'embed.onnx',
};

/** Where a new pack of that name will be. Throws an Error when something is there. */
export function freeDirectory(nameOrPath: string): string {
  const target = packDirectory(nameOrPath);
  if (existsSync(target)) throw new Error(`${target} is there already. Remove it, or choose another name.`);
  return target;
}

type Members = Record<string, unknown>;

/**
 * Makes a pack of the user's nets and, for the others, of the default pack's. All or nothing: it is made beside its place and
 * moved there when it has loaded and looked at the sample photos. Rejects with an Error with a message for people.
 */
export async function addPack(nameOrPath: string, options: AddOptions) {
  const directory = freeDirectory(nameOrPath);
  const pack = basename(directory);
  const base = packDirectory('default');
  const shared = readCalibratedManifest(base);
  // Before the minutes that a large net may take.
  await verifyPack(base, shared);
  const { own, assumed, min_det_score, liveness } = describeAll(options, shared);
  const { licence, project } = options;

  mkdirSync(dirname(directory), { recursive: true });
  const made = join(dirname(directory), `.adding-${randomUUID()}`);
  const remove = () => rmSync(made, { recursive: true, force: true });
  const forget = onInterrupt(remove);
  mkdirSync(made);
  const takeShared = (file: string) => copyFileSync(join(base, file), join(made, file));
  const takeOwn = (path: string, file: string) => {
    copyFileSync(path, join(made, file));
    return sha256(readFileSync(path));
  };
  try {
    const nets = [...packNets(shared)].flatMap(([role, net]): [Role, Members][] => {
      const members = own[role];
      if (members !== undefined) {
        const { path, ...described } = members;
        const [file, hash] = [files[role], takeOwn(path, files[role])];
        const from = basename(path);
        return [[role, { ...described, file, from, source_sha256: hash, sha256: hash, licence }]];
      }
      if (role === 'close_detector' && own.detector !== undefined) return [];
      const { source: _, ...rest } = { source: undefined, ...net };
      takeShared(net.file);
      return [[role, { ...rest, from: { pack: 'default' } }]];
    });
    const liveNets = liveness.map(({ path, ...described }, index) => {
      const file = `live-${index + 1}.onnx`;
      return { file, sha256: takeOwn(path, file), licence, ...described };
    });
    // Checks that are functions of the embedding hold where faces are embedded as in the default pack, the rest with all of its nets.
    const isSameEmbedding = own.embedder === undefined && own.landmarks === undefined;
    const isSame = isSameEmbedding && own.detector === undefined;
    const kept = (['human', 'occlusion', 'cohort'] as const).flatMap((role) => {
      const { [role]: score } = shared;
      if (score === undefined || !(role === 'cohort' ? isSame : isSameEmbedding)) return [];
      takeShared(score.file);
      return [[role, score]];
    });
    const manifest = {
      name: pack,
      version: '1.0.0',
      description: descriptionOf(options),
      source: {
        kind: 'project',
        project,
        commit: 'not stated',
        licence,
        licence_note: 'as told to facematch packs add',
        get: 'Ask whoever added this pack for the files.',
      },
      ...Object.fromEntries(nets),
      min_det_score,
      ...Object.fromEntries(kept),
      ...(isSame && { calibration: shared.calibration }),
      ...(liveNets.length > 0 && { liveness: { family: 'minifasnet', nets: liveNets } }),
    };
    writeFileSync(join(made, 'manifest.json'), manifestText(manifest));
    const draft = readManifest(made);
    const trial = await tryPack(made, draft);
    const better_feeding =
      options.embedder === undefined ? undefined : await betterFeeding(made, draft, trial);
    renameSync(made, directory);
    // The default pack's tables decide.
    const calibrated = draft.calibration !== undefined;
    return { pack, directory, assumed, trial, liveness: draft.liveness, calibrated, better_feeding };
  } catch (error) {
    throw new Error(`${(error as Error).message.replaceAll(made, directory)}\nNothing was added.`, {
      cause: error,
    });
  } finally {
    forget();
    remove();
  }
}

/** Does it when Ctrl-C or a signal to end comes, which then ends the process as ever. Returns what takes that back. */
function onInterrupt(act: () => void): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const forget = () => {
    for (const signal of signals) process.off(signal, end);
  };
  const end = (signal: NodeJS.Signals) => {
    act();
    forget();
    process.kill(process.pid, signal);
  };
  for (const signal of signals) process.on(signal, end);
  return forget;
}

/** What the manifest says of the user's nets, each with the path of its file. */
function describeAll(options: AddOptions, shared: CalibratedManifest) {
  const { detector, landmarks, embedder, family, output, feeding } = options;
  const own: Partial<Record<Role, Members & { path: string }>> = {};
  const assumed: string[] = [];
  let { min_det_score } = shared;
  if (detector !== undefined) {
    const described = describeDetector(detector, family);
    own.detector = { path: detector, ...described.members };
    assumed.push(...described.assumed);
    min_det_score = described.min_det_score;
  }
  if (landmarks !== undefined) {
    const { mean, scale, crop, upright_degrees, clear_template_error, max_instability } = shared.landmarks;
    const same = { mean, scale, crop, upright_degrees, clear_template_error, max_instability };
    const described = describeLandmarks(landmarks);
    own.landmarks = { path: landmarks, ...same, ...described.members };
    assumed.push(...described.assumed);
  }
  if (embedder !== undefined) {
    const described = describeEmbedder(embedder, { output, feeding });
    const template = templateFor(shared, described.members.size as number);
    own.embedder = { path: embedder, template, ...described.members };
    assumed.push(...described.assumed);
  }
  const liveness = (options.liveness ?? []).map(({ file, scale }) => {
    const described = describeLiveness(file, scale);
    assumed.push(...described.assumed);
    return { path: file, ...described.members };
  });
  const others = (['detector', 'landmarks', 'embedder'] as const).filter((role) => own[role] === undefined);
  if (others.length > 0) assumed.push(`${others.join(', ')}: the default pack's`);
  if (own.embedder === undefined && own.landmarks === undefined) {
    assumed.push("human check, occlusion: the default pack's, because faces are embedded as there");
  }
  if (others.length === 3) assumed.push("cohort, calibration: the default pack's, with all of its nets");
  return { own, assumed, min_det_score, liveness };
}

/** ArcFace's points in a chip of this side. */
function templateFor({ embedder: { template, size } }: CalibratedManifest, side: number): number[][] {
  return template.map((point) => point.map((value) => Number(((value * side) / size).toFixed(4))));
}

function descriptionOf({ detector, landmarks, embedder, liveness = [] }: AddOptions): string {
  const named = Object.entries({ detector, landmarks, embedder });
  const live = liveness.map(({ file }) => ['liveness', file] as const);
  const own = [...named, ...live].flatMap(([role, file]) => (file ? [`${role} ${basename(file)}`] : []));
  return `${own.join(', ')}; the rest is the default pack's`;
}
