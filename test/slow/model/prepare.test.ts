import { copyFile, mkdtemp, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { downloadTarball, extractFiles } from '../../../models/prepare/origins.ts';
import { preparePack } from '../../../models/prepare/prepare.ts';
import { packDirectory } from '../../../src/engine/manifest.ts';
import { sha256 } from '../../../src/engine/pack-files.ts';
import { closeDetector, closeOriginal, manifest, nets, scratch, tarball } from './support/originals.ts';

const silent = (): void => {};
const otherIntegrity = `sha512-${'A'.repeat(86)}==`;

/** A separate folder and pack for each test. */
let folder: string;
let pack: string;
beforeEach(async () => {
  folder = await mkdtemp(join(scratch, 'test-'));
  pack = await mkdtemp(join(scratch, 'pack-'));
  await writeManifest(silent);
});

async function writeManifest(change: (own: typeof manifest) => unknown): Promise<void> {
  const own = structuredClone(manifest);
  change(own);
  await writeFile(join(pack, 'manifest.json'), JSON.stringify(own));
}

describe.skipIf(!tarball || !closeOriginal)('preparing a pack', () => {
  test('writes the nets next to the manifest and reports each step', async () => {
    const lines: string[] = [];
    expect(await preparePack(pack, (line) => lines.push(line))).toBe('prepared');
    const files = [...nets, closeDetector].map(({ file }) => file);
    expect((await readdir(pack)).sort()).toEqual([...files, 'manifest.json'].sort());
    expect(lines).toEqual([
      'Fetching faceplugin-face-recognition-js@0.0.1 through npm',
      'Verifying the tarball and extracting the models',
      'Fetching @mediapipe/face_detection@0.4.1657300184 through npm',
      'Verifying the tarball and extracting the models',
      'Rewriting package/model/fr_detect.onnx to detect.onnx',
      'Converting package/face_detection_short_range.tflite to detect-close.onnx',
      'Rewriting package/model/fr_landmark.onnx to landmark.onnx',
      'Rewriting package/model/fr_feature.onnx to embed.onnx',
    ]);
  });

  test('changes and prints nothing if the pack is ready, and repairs damaged nets', async () => {
    for (const { file } of [...nets, closeDetector])
      await copyFile(join(packDirectory('default'), file), join(pack, file));
    const lines: string[] = [];
    expect(await preparePack(pack, (line) => lines.push(line))).toBe('ready');
    expect(lines).toEqual([]);
    const { landmarks, detector } = manifest;
    const [cutShort, changed] = [landmarks, detector].map(({ file }) => join(pack, file));
    await truncate(cutShort!, 1000);
    const bytes = await readFile(changed!);
    bytes[bytes.length - 1]! ^= 1;
    await writeFile(changed!, bytes);
    expect(await preparePack(pack, silent)).toBe('prepared');
    expect(sha256(await readFile(cutShort!))).toBe(landmarks.sha256);
    expect(sha256(await readFile(changed!))).toBe(detector.sha256);
  });

  test('leaves complete nets when two calls prepare at once', async () => {
    // Preparing the embedder takes longer than all other nets, so it is ready.
    const { file } = manifest.embedder;
    await copyFile(join(packDirectory('default'), file), join(pack, file));
    await Promise.all([preparePack(pack, silent), preparePack(pack, silent)]);
    expect(await preparePack(pack, silent)).toBe('ready');
    expect(await readdir(pack)).toHaveLength(5);
  });

  test.each<[string, (own: typeof manifest) => unknown, RegExp]>([
    [
      'the prepared net is pinned to other bytes',
      ({ landmarks }) => Object.assign(landmarks, { sha256: '0'.repeat(64) }),
      /^The rewritten landmark\.onnx has the SHA-256 [0-9a-f]{64}, but the manifest expects 0{64}/,
    ],
    [
      'the tarball of one net is pinned to other bytes',
      ({ close_detector }) => Object.assign(close_detector.source, { integrity: otherIntegrity }),
      /\(EINTEGRITY\)\. The tarball does not match its pinned hash/,
    ],
  ])('writes nothing when %s', async (_what, change, message) => {
    await writeManifest(change);
    await expect(preparePack(pack, silent)).rejects.toThrow(message);
    expect(await readdir(pack)).toEqual(['manifest.json']);
  });
});

const { source, landmarks, embedder } = manifest;

describe.skipIf(!tarball)('a tarball', () => {
  const flipped = (bytes: Buffer): Buffer => {
    bytes[9e6]! ^= 1;
    return bytes;
  };

  test.each<[string, (bytes: Buffer) => Buffer]>([
    ['one bit of it is flipped', flipped],
    ['it is a web page', () => Buffer.from('<!doctype html><title>Log in to the network</title>')],
  ])('is rejected with a hint, and not unpacked, if %s', async (_what, change) => {
    const path = join(folder, 'changed.tgz');
    await writeFile(path, change(await readFile(tarball!)));
    await expect(extractFiles(path, source.integrity, nets, folder)).rejects.toThrow(
      /^Preparing the model pack failed while verifying the tarball \(EINTEGRITY\)\. .*npm cache verify/,
    );
    expect(await readdir(folder)).toEqual(['changed.tgz']);
  });

  test('is rejected if a net in it has another hash, and the net is named', async () => {
    const swapped = [{ from: embedder.from, source_sha256: landmarks.source_sha256 }];
    await expect(extractFiles(tarball!, source.integrity, swapped, folder)).rejects.toThrow(
      `${embedder.from} in the tarball has the SHA-256 ${embedder.source_sha256}, but the manifest expects ${landmarks.source_sha256}`,
    );
  });
});

test('suggests checking the network if the registry is unreachable', async () => {
  vi.stubEnv('npm_config_cache', join(folder, 'cache'));
  vi.stubEnv('npm_config_fetch_retries', '0');
  vi.stubEnv('npm_config_noproxy', '127.0.0.1');
  // "discard" (RFC 863): a reserved port, so nothing else listens there.
  vi.stubEnv('npm_config_registry', 'http://127.0.0.1:9/');
  await expect(downloadTarball(source, folder)).rejects.toThrow(
    /^Preparing the model pack failed while fetching .* through npm \(ECONNREFUSED\)\. The npm registry is unreachable: check the network/,
  );
  vi.unstubAllEnvs();
});
