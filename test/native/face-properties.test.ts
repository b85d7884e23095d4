import sharp, { type Sharp } from 'sharp';
import { describe, expect, test } from 'vitest';
import type { Face } from '../../src/engine/addon.ts';
import { loadPack } from '../../src/engine/load-addon.ts';
import { packDirectory, readDraft } from '../../src/engine/manifest.ts';
import { analyseOptions, sample } from '../fixtures/pictures.ts';

/**
 * Roll and sharpness on photos of 22 people: each photo is rotated or blurred, and each face compared with itself before.
 * Landmarks vary by some degrees and sometimes fail, so most faces must agree, not all. On drawn faces: pose_test.cpp and
 * quality_test.cpp of native/test.
 */

const pack = packDirectory('default');
const addon = loadPack(pack, readDraft(pack));
const width = 1280;

interface Photo {
  bytes: Buffer;
  height: number;
  faces: Face[];
}

function analyse(bytes: Buffer): Photo {
  const result = addon.analyse(pack, bytes, { ...analyseOptions, accuracy_mode: 'balance' });
  if (!result.ok) throw new Error(result.code);
  return { bytes, height: result.image.height, faces: result.image.faces };
}

const stored = (picture: Sharp) => picture.png({ compressionLevel: 1 }).toBuffer();

const photos: Photo[] = [];
for (let number = 1; number <= 6; number++) {
  photos.push(analyse(await stored(sharp(sample(number)).resize({ width }))));
}

const middle = ({ box }: Face) => [box.x + box.width / 2, box.y + box.height / 2] as const;

type Spot = readonly [x: number, y: number];

interface Change {
  apply(picture: Sharp): Sharp;
  /** The position of a spot of the photo afterwards. */
  moved?(spot: Spot, photo: { height: number }): Spot;
}

/** Each face that is still found, before and after. */
async function pairs({ apply, moved = (spot) => spot }: Change): Promise<[Face, Face][]> {
  const found: [Face, Face][] = [];
  for (const photo of photos) {
    const { faces } = analyse(await stored(apply(sharp(photo.bytes))));
    for (const before of photo.faces) {
      const [x, y] = moved(middle(before), photo);
      const after = faces.find((face) => {
        const [u, v] = middle(face);
        return Math.hypot(u - x, v - y) < 0.4 * before.box.width;
      });
      if (after) found.push([before, after]);
    }
  }
  return found;
}

const total = photos.reduce((sum, { faces }) => sum + faces.length, 0);
const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** The differences are small for nearly all faces, and their median is smaller still. */
function expectSmall(differences: number[], { most, typical }: { most: number; typical: number }): void {
  expect(differences.length).toBeGreaterThanOrEqual(0.8 * total);
  const sizes = differences.map(Math.abs);
  expect(median(sizes)).toBeLessThan(typical);
  expect(sizes.filter((size) => size <= most).length / sizes.length).toBeGreaterThanOrEqual(0.85);
}

/** Clockwise. The picture grows so that nothing is cut off; its centre stays the centre. */
function rotated(degrees: number): Change {
  const [cos, sin] = [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)];
  return {
    apply: (picture) => picture.rotate(degrees, { background: '#777' }),
    moved: ([x, y], { height }) => {
      const [right, down] = [x - width / 2, y - height / 2];
      const grown = [
        Math.abs(width * cos) + Math.abs(height * sin),
        Math.abs(width * sin) + Math.abs(height * cos),
      ];
      return [grown[0]! / 2 + cos * right - sin * down, grown[1]! / 2 + sin * right + cos * down];
    },
  };
}

test('there are enough faces', () => {
  expect(total).toBeGreaterThanOrEqual(20);
});

describe('pose', () => {
  test.each([20, -20])(
    'rotating the picture by %d degrees changes roll by that angle and nothing else',
    async (degrees) => {
      const found = await pairs(rotated(degrees));
      expectSmall(
        found.map(([a, b]) => b.pose.roll - a.pose.roll - degrees),
        { most: 5, typical: 2 },
      );
      expectSmall(
        found.map(([a, b]) => b.pose.yaw - a.pose.yaw),
        { most: 8, typical: 4 },
      );
      expectSmall(
        found.map(([a, b]) => b.pose.pitch - a.pose.pitch),
        { most: 8, typical: 4 },
      );
    },
  );
});

describe('sharpness', () => {
  test('falls with every step of blur, for every face', async () => {
    let last = photos.flatMap(({ faces }) => faces.map(({ quality }) => quality.sharpness));
    for (const sigma of [2, 3, 4.5]) {
      const found = await pairs({ apply: (picture) => picture.blur(sigma) });
      const now = found.map(([, { quality }]) => quality.sharpness);
      // Some faces are not found under the strongest blur.
      expect(now.length).toBeGreaterThanOrEqual(0.7 * total);
      expect(median(now)).toBeLessThan(median(last) - 0.03);
      for (const [before, after] of found)
        expect(after.quality.sharpness).toBeLessThan(before.quality.sharpness);
      last = now;
    }
  });
});
