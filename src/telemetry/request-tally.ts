/** So many requests of one route ended so. */
export interface Ends {
  route: string;
  status: number;
  code: string;
  count: number;
}

/**
 * How many requests ended how. prom-client joins labels to a text at every count, which is dear where a refusal is all
 * that a request costs; so these are kept in maps, and told to it when a scrape comes.
 */
export class RequestTally {
  readonly #counts = new Map<string, Map<string, Map<number, number>>>();

  /** All three are words of tables, so that this stays small. */
  count(route: string, code: string, status: number): void {
    const statuses = inner(inner(this.#counts, route), code);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }

  /** Of all routes. */
  byCode(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { code, count } of this.ends()) counts.set(code, (counts.get(code) ?? 0) + count);
    return counts;
  }

  *ends(): Iterable<Ends> {
    for (const [route, codes] of this.#counts) {
      for (const [code, statuses] of codes) {
        for (const [status, count] of statuses) yield { route, status, code, count };
      }
    }
  }
}

/** The map at `key`, made when there is none. */
function inner<Key, Value>(maps: Map<string, Map<Key, Value>>, key: string): Map<Key, Value> {
  let map = maps.get(key);
  if (map === undefined) {
    map = new Map();
    maps.set(key, map);
  }
  return map;
}
