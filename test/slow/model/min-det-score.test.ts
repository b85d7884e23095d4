import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { maxFaces } from '../../../src/endpoints/face.ts';
import type { Face } from '../../../src/engine/addon.ts';
import { loadPack } from '../../../src/engine/load-addon.ts';
import { packDirectory, readCalibratedManifest } from '../../../src/engine/manifest.ts';
import { analyseOptions, sample, sharedFolder } from '../../fixtures/images.ts';

/**
 * A lower min_det_score never removes a face: each list has all of the one before it. Three samples, and of each folder of ../shared as
 * many images as FACEMATCH_IMAGES says.
 */
const wanted = Number(process.env.FACEMATCH_IMAGES ?? 1);

const scores = [0.7, 0.5, 0.3, 0.1, 0.05, 0];

const shared = sharedFolder();
const folders = [
  'groups/dlib',
  'groups/rotated',
  'groups/compreface',
  'london',
  'lfw-dev',
  'web-dev',
  'rmfd-dev',
  'ages-dev',
  'cfp-dev',
  'origin-dev',
];

/** Evenly spread. */
function someOf(folder: string): [string, Uint8Array][] {
  const path = shared && join(shared, 'data', folder);
  if (!path || !existsSync(path)) return [];
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:jpe?g|png)$/i.test(file))
    .sort();
  const every = Math.ceil(files.length / wanted);
  return files
    .filter((_item, index) => index % every === 0)
    .map((file) => [`${folder}/${file}`, readFileSync(join(path, file))]);
}

const images: [string, Uint8Array][] = [
  ...[1, 3, 5].map((number): [string, Uint8Array] => [`sample ${number}`, sample(number)]),
  ...folders.flatMap(someOf),
];

const keyOf = ({ box, detection_score, embedding }: Face) =>
  JSON.stringify([box, detection_score, [...embedding.subarray(0, 4)]]);

describe.each([true, false])('with the fallback: %s', (use_heuristic_fallback) => {
  test(
    'each list contains the one before it',
    () => {
      const directory = packDirectory('default');
      const addon = loadPack(directory, readCalibratedManifest(directory));
      const lost: string[] = [];
      let added = 0;
      for (const [name, image] of images) {
        let before: string[] = [];
        for (const min_det_score of scores) {
          const options = {
            ...analyseOptions,
            accuracy_mode: 'fast',
            use_heuristic_fallback,
            min_det_score,
          } as const;
          const found = addon.analyse(directory, image, options);
          if (!found.ok) throw new Error(`${name}: ${found.code}`);
          const { faces } = found.image;
          const now = faces.map(keyOf);
          if (faces.length < maxFaces && !before.every((face) => now.includes(face))) {
            lost.push(`${name} at ${min_det_score}`);
          }
          expect(faces.every(({ detection_score }) => detection_score >= min_det_score)).toBe(true);
          if (min_det_score < 0.7) added += now.length - before.length;
          before = now;
        }
      }
      expect(lost).toEqual([]);
      expect(added).toBeGreaterThan(0);
    },
    images.length * 20_000,
  );
});
