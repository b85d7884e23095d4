import { copyFile, mkdir, mkdtemp, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { preparePack } from '../../models/prepare/prepare.ts';
import { packDirectory, sha256 } from '../../src/engine/manifest.ts';
import { closeDetector, closeOriginal, manifest, nets, scratch, tarball } from './support/originals.ts';

const silent = (): void => {};

/** A separate pack for each test. */
let pack: string;
beforeEach(async () => {
  pack = join(await mkdtemp(join(scratch, 'test-')), 'pack');
  await mkdir(pack);
  await writeManifest(silent);
});

async function writeManifest(change: (own: typeof manifest) => void): Promise<void> {
  const own = structuredClone(manifest);
  change(own);
  await writeFile(join(pack, 'manifest.json'), JSON.stringify(own));
}

test.each([...nets, closeDetector])('$file in the default pack is the prepared one', async (net) => {
  expect(sha256(await readFile(join(packDirectory('default'), net.file)))).toBe(net.sha256);
});

describe.skipIf(!tarball || !closeOriginal)('preparing a pack', () => {
  test('leaves the nets beside the manifest and says each step', async () => {
    const lines: string[] = [];
    expect(await preparePack(pack, (line) => lines.push(line))).toBe('prepared');
    expect((await readdir(pack)).sort()).toEqual([
      'detect-close.onnx',
      'detect.onnx',
      'embed.onnx',
      'landmark.onnx',
      'manifest.json',
    ]);
    expect(lines).toEqual([
      'Fetching faceplugin-face-recognition-js@0.0.1 through npm',
      'Checking its integrity and lifting the nets out',
      'Fetching @mediapipe/face_detection@0.4.1657300184 through npm',
      'Checking its integrity and lifting the nets out',
      'Rewriting package/model/fr_detect.onnx to detect.onnx',
      'Converting package/face_detection_short_range.tflite to detect-close.onnx',
      'Rewriting package/model/fr_landmark.onnx to landmark.onnx',
      'Rewriting package/model/fr_feature.onnx to embed.onnx',
    ]);
  });

  test('changes nothing and prints nothing when the pack is ready, and mends nets that are not', async () => {
    for (const { file } of [...nets, closeDetector])
      await copyFile(join(packDirectory('default'), file), join(pack, file));
    const lines: string[] = [];
    expect(await preparePack(pack, (line) => lines.push(line))).toBe('ready');
    expect(lines).toEqual([]);
    const [cutShort, changed] = [manifest.landmarks, manifest.embedder].map(({ file }) => join(pack, file));
    await truncate(cutShort!, 1000);
    const bytes = await readFile(changed!);
    bytes[bytes.length - 1]! ^= 1;
    await writeFile(changed!, bytes);
    expect(await preparePack(pack, silent)).toBe('prepared');
    expect(sha256(await readFile(cutShort!))).toBe(manifest.landmarks.sha256);
    expect(sha256(await readFile(changed!))).toBe(manifest.embedder.sha256);
  });

  test('leaves complete nets when two processes prepare at once', async () => {
    await Promise.all([preparePack(pack, silent), preparePack(pack, silent)]);
    expect(await preparePack(pack, silent)).toBe('ready');
    expect(await readdir(pack)).toHaveLength(5);
  });

  test.each<[string, (own: typeof manifest) => void, RegExp]>([
    [
      'the prepared net is pinned to other bytes',
      (own) => {
        own.embedder.sha256 = '0'.repeat(64);
      },
      /^The rewritten embed\.onnx has SHA-256 [0-9a-f]{64} but the manifest says 0{64}/,
    ],
    [
      'the original net is pinned to other bytes',
      (own) => {
        own.detector.source_sha256 = '0'.repeat(64);
      },
      /^package\/model\/fr_detect\.onnx in the tarball has SHA-256 /,
    ],
    [
      'the converted net is pinned to other bytes',
      (own) => {
        own.close_detector.sha256 = '0'.repeat(64);
      },
      /detect-close\.onnx has SHA-256 [0-9a-f]{64} but the manifest says 0{64}/,
    ],
    [
      'the tarball of one net is pinned to other bytes',
      (own) => {
        own.close_detector.source.integrity = `sha512-${'A'.repeat(86)}==`;
      },
      /\(EINTEGRITY\)\. The tarball is not the one that is pinned/,
    ],
    [
      'the tarball is pinned to other bytes',
      (own) => {
        own.source.integrity = `sha512-${'A'.repeat(86)}==`;
      },
      /\(EINTEGRITY\)\. The tarball is not the one that is pinned/,
    ],
  ])('writes nothing when %s', async (_, change, message) => {
    await writeManifest(change);
    await expect(preparePack(pack, silent)).rejects.toThrow(message);
    expect(await readdir(pack)).toEqual(['manifest.json']);
  });
});
