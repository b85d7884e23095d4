// The default pack's nets as their author ships them, for contenders that have no rewritten ones.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { cache } from '../lib/paths.mjs';

/** Holds fr_detect.onnx, fr_landmark.onnx and fr_feature.onnx after `prepareNets`. */
export const originalNets = join(cache, 'nets');

const names = ['fr_detect.onnx', 'fr_landmark.onnx', 'fr_feature.onnx'];

export const netsAreThere = () => names.every((name) => existsSync(join(originalNets, name)));

/** Lifts them out of the tarball as `models/prepare` does: fetched through npm, its integrity and their hashes checked. */
export async function prepareNets() {
  const { downloadTarball, liftFiles } = await import('../../dist/models/prepare/tarball.js');
  const { packDirectory, packNets, readManifest } = await import('../../dist/src/engine/pack.js');
  const manifest = readManifest(packDirectory('default'));
  const scratch = mkdtempSync(join(tmpdir(), 'facematch-bench-nets-'));
  try {
    const tarball = await downloadTarball(manifest.source, scratch);
    const lifted = await liftFiles(tarball, manifest.source.integrity, packNets(manifest), scratch);
    mkdirSync(originalNets, { recursive: true });
    for (const [from, bytes] of lifted) writeFileSync(join(originalNets, basename(from)), bytes);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
