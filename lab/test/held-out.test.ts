import { meanOf } from 'facematch/for-lab';
import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { dot } from '../../src/scoring/similarity.ts';
import { Random } from '../../test/support/random.mjs';
import {
  candidates,
  type LabelledEmbedding,
  lengthsOfSums,
  meanOfHighest,
  membersOf,
  nearestFaces,
  peopleOfCentre,
  rowsOf,
  seedsOf,
} from '../cohort.ts';
import scoresOf from '../cohort-worker.ts';
import { foldPair, foldPairs, folds, HeldOutCohorts } from '../held-out.ts';
import { personOf } from '../pairs.ts';

// Imports the compiled file, because it starts worker threads, which cannot run TypeScript.
const { makeCohorts }: typeof import('../held-out.ts') = await import(projectPath('dist/lab/held-out.js'));

const seeded = new Random(5);
const dimensions = 16;
const faces: LabelledEmbedding[] = Array.from({ length: 120 }, (_, i) => ({
  person: `person ${i % 100}`,
  set: 'all',
  embedding: meanOf([Float32Array.from({ length: dimensions }, () => seeded.next() - 0.5)]),
}));
const rows = faces.map(({ embedding }) => embedding);
const vectors = Float32Array.from(rows.flatMap((row) => [...row]));
const people = Uint32Array.from(faces, (_, i) => i % 100);

describe('the faces of a centre', () => {
  const nearest = nearestFaces({ vectors, dimensions, people, seeds: Uint32Array.of(0, 7) });

  test('are a face and the nearest faces of other people, with a cosine of at most 0.6', () => {
    for (const [row, seed] of [0, 7].entries()) {
      const found = [...nearest.subarray(row * candidates, (row + 1) * candidates)];
      expect(new Set(found.map((face) => people[face])).size).toBe(candidates);
      expect(found.map((face) => people[face])).not.toContain(people[seed]);
      const cosines = found.map((face) => dot(rows[seed]!, rows[face]!));
      expect(cosines).toEqual([...cosines].sort((a, b) => b - a));
      expect(cosines[0]).toBeLessThanOrEqual(0.6);
      expect(membersOf(seed, Int32Array.from(found), () => false)).toEqual([seed, ...found.slice(0, 4)]);
    }
  });

  test('exclude omitted people, and are undefined for an omitted seed or with fewer than five people', () => {
    const found = nearest.subarray(0, candidates);
    const without = found[1]!;
    const members = membersOf(0, found, (face) => face === without)!;
    expect(members).toEqual([0, found[0], found[2], found[3], found[4]]);
    expect(membersOf(0, found, (face) => face === 0)).toBeUndefined();
    expect(membersOf(0, found.subarray(0, 3), () => false)).toBeUndefined();
  });
});

test('uses each person of a set as the seed of one centre, up to the maximum', () => {
  const { faces: kept, seeds } = seedsOf(faces);
  expect(kept).toHaveLength(100);
  expect(seeds).toEqual([...kept.keys()]);
  const many = Array.from({ length: 13_000 }, (_, i) => ({ ...faces[0]!, person: `${i}` }));
  expect(seedsOf(many).seeds).toHaveLength(6500);
});

test('returns the same mean of the highest numbers as from a sorted list', () => {
  for (const length of [1, 49, 50, 51, 700]) {
    const numbers = Float32Array.from({ length }, () => Math.round(20 * seeded.next()) / 20);
    const sorted = [...numbers].sort((a, b) => b - a).slice(0, 50);
    const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
    expect(meanOfHighest(numbers)).toBeCloseTo(mean, 5);
  }
  expect(meanOfHighest(new Float32Array())).toBe(0);
});

test('scores a face by the mean of its highest cosines with the centres, leaving out two folds', () => {
  const plans = foldPairs.map((_, plan) =>
    Int32Array.from({ length: 60 * peopleOfCentre }, (_, i) => (i * 7 + plan) % faces.length),
  );
  const own = Uint8Array.of(3, 0);
  const judged = vectors.slice(0, 2 * dimensions);
  const lengths = plans.map((members) => lengthsOfSums(members, rows));
  const scores = scoresOf({ vectors, dimensions, plans, lengths, faces: judged, own });
  for (const face of [0, 1]) {
    for (let other = 0; other < folds; other++) {
      const members = plans[foldPair(own[face]!, other)]!;
      const cosines = Float32Array.from({ length: 60 }, (_, centre) => {
        const some = members.subarray(centre * peopleOfCentre, (centre + 1) * peopleOfCentre);
        return dot(rows[face]!, meanOf(Array.from(some, (member) => rows[member]!)));
      });
      expect(scores[face * folds + other]).toBeCloseTo(meanOfHighest(cosines), 5);
    }
  }
});

describe('held-out cohorts', () => {
  test('score a pair independently of its order, and reject an unknown face', () => {
    const scores = Float32Array.from({ length: 2 * folds }, (_, i) => i);
    const cohorts = new HeldOutCohorts(rows.slice(0, 2), rowsOf(scores, folds));
    const [a, b] = [faces[0]!, faces[1]!];
    expect(cohorts.scores(a, b)).toEqual(cohorts.scores(b, a).toReversed());
    expect(() => cohorts.scores(a, faces[2]!)).toThrow('No cohort score was computed');
  });

  test('cannot be made of too few people', async () => {
    await expect(makeCohorts(faces.slice(0, 4), 1)).rejects.toThrow('too few people');
  });
});

test('returns the first folder of a path as the person, and rejects a path without one', () => {
  for (const path of ['Ann/1.jpg', 'Ann/2026/1.jpg']) expect(personOf(path)).toBe('Ann');
  for (const path of ['1.jpg', '/Ann/1.jpg', './1.jpg', '../Ann/1.jpg', ''])
    expect(() => personOf(path), path).toThrow('expected a path that starts with a folder');
});
