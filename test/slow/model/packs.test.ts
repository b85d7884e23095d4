import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { preparePack } from '../../../models/prepare/prepare.ts';
import type { AccuracyMode } from '../../../src/engine/addon.ts';
import { loadPack } from '../../../src/engine/load-addon.ts';
import { packDirectory, readCalibratedManifest } from '../../../src/engine/manifest.ts';
import { verifyPack } from '../../../src/engine/pack-files.ts';
import { analyseOptions, sample, sharedFolder } from '../../fixtures/images.ts';
import { program, run } from '../../server/support/cli.ts';
import { type Json, twoPhotos } from '../../server/support/client.ts';
import { TestServer } from '../../server/support/server.ts';
import { newFolder } from '../../support/folder.ts';
import { without } from '../../support/without.mjs';

/** Tests every pack except the default one, which other tests use. */

const shared = sharedFolder();
const modes: readonly AccuracyMode[] = ['fast', 'balance'];

/** Packs that this machine's tests can use. */
const packs: readonly string[] = ['int8', ...((await yunetIsReady()) ? ['yunet'] : [])];

/** The tests do not download YuNet's file: it must be in ../shared, or the developer must have prepared the pack. */
async function yunetIsReady(): Promise<boolean> {
  const directory = packDirectory('yunet');
  try {
    const files = shared ? { detector: join(shared, 'models/yunet/yunet_n_dynamic.onnx') } : {};
    await preparePack('yunet', () => {}, files);
    await verifyPack(directory, readCalibratedManifest(directory));
    return true;
  } catch (error) {
    process.stderr.write(`Skipped the pack yunet: ${(error as Error).message}\n`);
    return false;
  }
}

const servers = new Map<string, TestServer>();
for (const name of packs) servers.set(name, await TestServer.forFile({ env: { FACEMATCH_PACK: name } }));

describe.each(packs)('the pack %s', (name) => {
  test('is named in the response of a server that uses it', async () => {
    const { version } = readCalibratedManifest(packDirectory(name));
    const { body } = await servers.get(name)!.match(twoPhotos());
    expect(body).toMatchObject({ match: true, model: { pack: name, version } });
  });

  test.skipIf(!shared)(
    'separates mated from non-mated labelled pairs like the other packs',
    { timeout: 300_000 },
    async () => {
      const images = join(shared!, 'data/lfw-dev/images');
      const [header, ...lines] = readFileSync(join(shared!, 'data/lfw-dev/pairs.tsv'), 'utf8').split('\n');
      const slice = lines.filter((line, i) => line !== '' && i % 20 === 0);
      const folder = newFolder();
      writeFileSync(join(folder, 'pairs.tsv'), [header, ...slice].join('\n'));
      const env = { FACEMATCH_PACK: name, FACEMATCH_WORKERS: '1' };
      const args = ['eval', 'pairs.tsv', '--images', images, '--json'];
      const { stdout, stderr, code } = await run(program, args, folder, env);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const evaluation = JSON.parse(stdout);
      expect(evaluation.pairs.mated + evaluation.pairs.non_mated).toBe(slice.length);
      expect(slice.length).toBeGreaterThan(100);
      expect(evaluation.without_face).toEqual([]);
      // These people are in the packs' cohort, which lowers the scores of mated pairs, so some decisions may be wrong.
      expect(evaluation.by.normalised.accuracy.mean).toBeGreaterThan(0.965);
      expect(evaluation.by.cosine.accuracy.mean).toBeGreaterThan(0.98);
    },
  );
});

test("uses the default pack's detection models in the pack int8, member by member", () => {
  const int8 = readCalibratedManifest(packDirectory('int8'));
  const { detector, close_detector, landmarks } = readCalibratedManifest(packDirectory('default'));
  const from = { pack: 'default' };
  expect(int8.detector).toEqual({ ...detector, from });
  expect(int8.close_detector).toEqual({ ...without(close_detector!, 'source'), from });
  expect(int8.landmarks).toEqual({ ...landmarks, from });
});

describe('the pack yunet', () => {
  const yunet = readCalibratedManifest(packDirectory('yunet'));
  const original = readCalibratedManifest(packDirectory('default'));
  /** Number of people in each of the six samples. */
  const people = [3, 3, 3, 4, 5, 4];

  // test/native/analysis.test.ts tests the same for int8.
  test.skipIf(!packs.includes('yunet')).each(modes)(
    'finds every person in six group photos and no one else, in mode %s',
    (accuracy_mode) => {
      const pack = packDirectory('yunet');
      const options = { ...analyseOptions, min_det_score: yunet.min_det_score, accuracy_mode };
      const addon = loadPack(pack, yunet);
      const found = people.map((_item, i) => {
        const result = addon.analyse(pack, sample(i + 1), options);
        return result.ok ? result.image.faces.length : result.code;
      });
      expect(found).toEqual(people);
    },
  );

  test.each(['landmarks', 'embedder'] as const)(
    'has the %s of the default pack, with all members',
    (role) => {
      expect(yunet[role]).toEqual({ ...original[role], from: { pack: 'default' } });
    },
  );

  test.skipIf(!packs.includes('yunet'))(
    'lists the pack of each file, and the source of its own files',
    async () => {
      const { body } = await servers.get('yunet')!.getModels();
      expect(body.source).toEqual({
        kind: 'project',
        name: 'ShiqiYu/libfacedetection.train',
        version: expect.stringMatching(/^[0-9a-f]{40}$/),
        licence: 'Apache-2.0',
      });
      expect(body.files.map(({ role, pack }: Json) => `${role} of ${pack}`)).toEqual([
        ...['detector of yunet', 'landmarks of default', 'embedder of default'],
        ...['cohort of yunet', 'human of yunet', 'occlusion of yunet'],
      ]);
      const [detector] = body.files;
      expect(detector.sha256).toBe(detector.source_sha256);
    },
  );

  test.skipIf(!shared || !packs.includes('yunet'))(
    'has a min_det_score far above the detection scores in images without a face',
    () => {
      const folder = join(shared!, 'data/negatives');
      const pack = packDirectory('yunet');
      const addon = loadPack(pack, yunet);
      const scores = readdirSync(folder).flatMap((file) => {
        const options = { ...analyseOptions, min_det_score: 0.2, use_heuristic_fallback: false };
        const result = addon.analyse(pack, readFileSync(join(folder, file)), options);
        return result.ok ? result.image.faces.map(({ detection_score }) => detection_score) : [];
      });
      // Most false detections are dropped before the human check.
      expect(Math.max(0, ...scores)).toBeLessThan(yunet.min_det_score - 0.1);
    },
  );
});
