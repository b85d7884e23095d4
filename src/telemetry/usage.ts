import type { RequestRecord } from './record.ts';

/** What the keys of one name used. */
export interface KeyUse {
  /** Requests whose key, scope and rate were right, whatever came of them. */
  requests: number;
  /** Pictures that were analysed for them. */
  pictures: number;
  /** Verdicts on two pictures, or on two embeddings. */
  comparisons: number;
}

/** Undefined for a request without a key that was admitted. */
export function useOf({ key_name, pictures, decisions }: RequestRecord): KeyUse | undefined {
  if (key_name === undefined) return undefined;
  const comparisons = decisions.reduce(
    (sum, { candidates, match }) => sum + (candidates ?? (match === undefined ? 0 : 1)),
    0,
  );
  return { requests: 1, pictures, comparisons };
}

/** Use by the name of the key since the start, for billing: a key that was rotated keeps its name. */
export class Usage {
  readonly #since = new Date().toISOString();
  readonly #used = new Map<string, KeyUse>();

  add(name: string, { requests, pictures, comparisons }: KeyUse): void {
    const used = this.#used.get(name) ?? { requests: 0, pictures: 0, comparisons: 0 };
    used.requests += requests;
    used.pictures += pictures;
    used.comparisons += comparisons;
    this.#used.set(name, used);
  }

  report() {
    const keys = [...this.#used].map(([name, used]) => ({ name, ...used }));
    return { since: this.#since, keys: keys.sort((a, b) => (a.name < b.name ? -1 : 1)) };
  }
}
