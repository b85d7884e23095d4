import { expect, test } from 'vitest';
import { work } from '../../src/endpoints/compare-embeddings.ts';

/** What a worker does with embeddings that nobody waits for any more; the answers are in test/server/embeddings.test.ts. */

const dimensions = 4;
const embedding = Buffer.from(Float32Array.of(1, 0, 0, 0).buffer).toString('base64');
const job = (candidates: number) => {
  const members = { embedding, pack: 'p', version: '1', accuracy_mode: 'fast' };
  const body = { ...members, candidates: Array.from({ length: candidates }, () => ({ id: '', embedding })) };
  return { body: Buffer.from(JSON.stringify(body)), pack: 'p', version: '1', dimensions };
};

test('ends at whichever step is next', () => {
  const cohortScores = (vectors: Float32Array) => new Float32Array(vectors.length / dimensions);
  let checks = 0;
  const count = () => {
    checks += 1;
  };
  expect(work(job(10), { cohortScores, check: count }).candidates).toHaveLength(10);
  const all = checks;
  expect(all).toBeGreaterThan(10);
  for (let last = 1; last <= all; last++) {
    let left = last;
    const leave = () => {
      left -= 1;
      if (left === 0) throw new Error('left');
    };
    expect(() => work(job(10), { cohortScores, check: leave })).toThrow('left');
    expect(left).toBe(0);
  }
});
