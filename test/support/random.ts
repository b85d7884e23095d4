import { Random } from '../../bench/lib/random.mjs';

/** Random numbers from 0 to 1, the same for the same seed. */
export function generator(seed: number): () => number {
  const random = new Random(seed);
  return () => random.next();
}
