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
import type { Feeding } from '../../engine/families.ts';
import {
  type PackDraft,
  type PackManifest,
  packDirectory,
  packNets,
  type Role,
  readDraft,
  readManifest,
  sha256,
  verifyPack,
} from '../../engine/manifest.ts';
import { manifestText } from '../write-fit.ts';
import {
  type Described,
  describeDetector,
  describeEmbedder,
  describeLandmarks,
  describeLiveness,
} from './describe.ts';
import { betterFeeding, type Trial, tryPack } from './trial.ts';

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

export interface Added {
  pack: string;
  directory: string;
  assumed: string[];
  trial: Trial;
  liveness: PackDraft['liveness'];
  /** By the default pack's tables. */
  calibrated: boolean;
  /** A way to feed the embedder that tells the people of the sample photos apart better. */
  better_feeding: Feeding | undefined;
}

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

/**
 * Makes a pack of the user's nets and, for the others, of the default pack's. All or nothing: it is made beside its place and
 * moved there when it has loaded and looked at the sample photos. Rejects with an Error with a message for people.
 */
export async function addPack(nameOrPath: string, options: AddOptions): Promise<Added> {
  const target = freeDirectory(nameOrPath);
  const name = basename(target);
  const base = packDirectory('default');
  const shared = readManifest(base);
  // Before the minutes that a large net may take.
  await verifyPack(base, shared);
  const { own, assumed, min_det_score, liveness } = describeAll(options, shared);

  mkdirSync(dirname(target), { recursive: true });
  const made = join(dirname(target), `.adding-${randomUUID()}`);
  mkdirSync(made);
  try {
    const nets = Object.fromEntries(
      [...packNets(shared)].flatMap(([role, net]) => {
        const member =
          own[role] ?? (role === 'close_detector' && own.detector ? undefined : taken(base, made, net));
        return member === undefined ? [] : [[role, { ...member, ...copied(made, role, options) }]];
      }),
    );
    const manifest = {
      name,
      version: '1.0.0',
      description: descriptionOf(options),
      source: {
        kind: 'project',
        project: options.project,
        commit: 'not stated',
        licence: options.licence,
        licence_note: 'as told to facematch packs add',
        get: 'Ask whoever added this pack for the files.',
      },
      ...nets,
      min_det_score,
      ...keptOf(base, made, shared, own),
      ...(liveness.length === 0
        ? {}
        : { liveness: { family: 'minifasnet', nets: copiedNets(made, liveness, options) } }),
    };
    writeFileSync(join(made, 'manifest.json'), manifestText(manifest));
    const draft = readDraft(made);
    const trial = tryPack(made, draft);
    const better_feeding = options.embedder === undefined ? undefined : betterFeeding(made, draft, trial);
    renameSync(made, target);
    const calibrated = draft.calibration !== undefined;
    return {
      pack: name,
      directory: target,
      assumed,
      trial,
      liveness: draft.liveness,
      calibrated,
      better_feeding,
    };
  } catch (error) {
    throw new Error(`${(error as Error).message.replaceAll(made, target)}\nNothing was added.`, {
      cause: error,
    });
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

type Members = Record<string, unknown>;

function describeAll(options: AddOptions, shared: PackManifest) {
  const own: Partial<Record<Role, Members>> = {};
  const assumed: string[] = [];
  const use = (role: Role, { members, assumed: lines }: Described, more: Members = {}) => {
    own[role] = { ...more, ...members };
    assumed.push(...lines);
  };
  let { min_det_score } = shared;
  if (options.detector !== undefined) {
    const described = describeDetector(options.detector, options.family);
    use('detector', described);
    min_det_score = described.min_det_score;
  }
  if (options.landmarks !== undefined) {
    const { mean, scale, crop, upright_degrees, clear_template_error, max_instability } = shared.landmarks;
    const same = { mean, scale, crop, upright_degrees, clear_template_error, max_instability };
    use('landmarks', describeLandmarks(options.landmarks), same);
  }
  if (options.embedder !== undefined) {
    const { output, feeding } = options;
    const described = describeEmbedder(options.embedder, { output, feeding });
    use('embedder', described, { template: templateFor(shared, described.members.size as number) });
  }
  const liveness = (options.liveness ?? []).map(({ file, scale }) => {
    const { members, assumed: lines } = describeLiveness(file, scale);
    assumed.push(...lines);
    return { file, members };
  });
  const others = (['detector', 'landmarks', 'embedder'] as const).filter((role) => own[role] === undefined);
  if (others.length > 0) assumed.push(`${others.join(', ')}: the default pack's`);
  if (own.embedder === undefined && own.landmarks === undefined) {
    assumed.push("human check, occlusion: the default pack's, because faces are embedded as there");
  }
  if (others.length === 3) assumed.push("cohort, calibration: the default pack's, with all of its nets");
  return { own, assumed, min_det_score, liveness };
}

/**
 * What the default pack's manifest says that holds here, too: checks that are functions of the embedding, where faces are embedded
 * as there; with all of its nets cohort and calibration.
 */
function keptOf(
  base: string,
  made: string,
  shared: PackManifest,
  own: Partial<Record<Role, Members>>,
): Members {
  if (own.embedder !== undefined || own.landmarks !== undefined) return {};
  const whole = own.detector === undefined;
  const roles = whole ? (['human', 'occlusion', 'cohort'] as const) : (['human', 'occlusion'] as const);
  const kept = roles.flatMap((role) => {
    const { [role]: score } = shared;
    if (score === undefined) return [];
    copyFileSync(join(base, score.file), join(made, score.file));
    return [[role, score]];
  });
  return { ...Object.fromEntries(kept), ...(whole ? { calibration: shared.calibration } : {}) };
}

/** Copies the user's nets for presentation attacks; what the manifest says of them. */
function copiedNets(
  made: string,
  nets: readonly { file: string; members: Members }[],
  { licence }: AddOptions,
): Members[] {
  return nets.map(({ file, members }, index) => {
    const name = `live-${index + 1}.onnx`;
    copyFileSync(file, join(made, name));
    return { file: name, sha256: sha256(readFileSync(file)), licence, ...members };
  });
}

/** ArcFace's points in a chip of this side. */
function templateFor({ embedder: { template, size } }: PackManifest, side: number): number[][] {
  return template.map((point) => point.map((value) => Number(((value * side) / size).toFixed(4))));
}

/** The default pack's net, whose file is copied. */
function taken(
  base: string,
  made: string,
  net: PackDraft['landmarks'] | PackDraft['detector'] | Members,
): Members {
  const { source: _, ...rest } = net as Members & { file: string; source?: unknown };
  copyFileSync(join(base, rest.file as string), join(made, rest.file as string));
  return { ...rest, from: { pack: 'default' } };
}

/** Copies the user's file; what the manifest says of it. */
function copied(made: string, role: Role, options: AddOptions): Members {
  const path = role === 'close_detector' ? undefined : options[role];
  if (path === undefined) return {};
  copyFileSync(path, join(made, files[role]));
  const hash = sha256(readFileSync(path));
  return {
    file: files[role],
    from: basename(path),
    source_sha256: hash,
    sha256: hash,
    licence: options.licence,
  };
}

function descriptionOf({ detector, landmarks, embedder, liveness = [] }: AddOptions): string {
  const named = { detector, landmarks, embedder };
  const own = [
    ...Object.entries(named),
    ...liveness.map(({ file }): [string, string] => ['liveness', file]),
  ].flatMap(([role, file]) => (file === undefined ? [] : [`${role} ${basename(file)}`]));
  return `${own.join(', ')}; the rest is the default pack's`;
}
