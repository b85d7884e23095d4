import { describe, expect, test } from 'vitest';
import { cohortScore, dot, type LabelledEmbedding } from '../../src/eval/cohort.ts';
import { HeldOutCohorts, heldOutFits } from '../../src/eval/held-out.ts';
import { personOf } from '../../src/eval/pairs.ts';

const people: LabelledEmbedding[] = Array.from({ length: 300 }, (_, i) => {
  const angle = i / 50;
  return {
    person: `person ${i % 100}`,
    group: 'all',
    embedding: Float32Array.of(Math.cos(angle), Math.sin(angle), 0),
  };
});

/** As centres, the pictures themselves: so that it shows who had a share. */
async function fitted(fits: LabelledEmbedding[][] = []): Promise<HeldOutCohorts> {
  return HeldOutCohorts.make(people, async (pictures) => {
    fits.push([...pictures]);
    return pictures.map(({ embedding }) => embedding);
  });
}

describe('held-out cohorts', () => {
  test('are made without anybody of two parts, each person missing from some', async () => {
    const fits: LabelledEmbedding[][] = [];
    await fitted(fits);
    expect(fits).toHaveLength(heldOutFits);
    for (const pictures of fits) {
      expect(pictures.length).toBeGreaterThan(0.5 * people.length);
      expect(pictures.length).toBeLessThan(people.length);
    }
    for (const { person } of people) {
      const without = fits.filter((pictures) => !pictures.some((picture) => picture.person === person));
      expect(without).toHaveLength(10);
    }
  });

  test('normalise a pair with centres that neither of its people had a share in', async () => {
    const fits: LabelledEmbedding[][] = [];
    const cohorts = await fitted(fits);
    for (const [a, b] of [
      [people[0]!, people[1]!],
      [people[5]!, people[105]!],
      [people[42]!, people[17]!],
    ] as const) {
      const score = cohorts.normalised(a, b);
      const candidates = fits
        .filter((pictures) => !pictures.some(({ person }) => person === a.person || person === b.person))
        .map((pictures) => pictures.map(({ embedding }) => embedding))
        .map(
          (centres) =>
            dot(a.embedding, b.embedding) -
            (cohortScore(a.embedding, centres) + cohortScore(b.embedding, centres)) / 2,
        );
      expect(candidates.some((candidate) => Math.abs(candidate - score) < 1e-9)).toBe(true);
      expect(cohorts.normalised(b, a)).toBeCloseTo(score, 12);
    }
  });

  test('cannot be made of too few people', async () => {
    await expect(HeldOutCohorts.make(people, async () => [])).rejects.toThrow('too few people');
  });
});

describe('the person of a picture', () => {
  test('is the first folder of its path', () => {
    expect(personOf('Ann/1.jpg')).toBe('Ann');
    expect(personOf('Ann/2026/1.jpg')).toBe('Ann');
  });

  test.each(['1.jpg', '/Ann/1.jpg', './1.jpg', '../Ann/1.jpg', ''])('is not told by %o', (path) => {
    expect(() => personOf(path)).toThrow('expected a path that starts with a folder');
  });
});
