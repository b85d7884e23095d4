import type { EndpointId } from '../config/config.ts';
import { prefix } from '../endpoints/endpoint.ts';
import { endpoints, type Listed } from '../endpoints/index.ts';
import { Problem } from '../errors.ts';

/** Finds endpoints among those that are switched on. HEAD works wherever GET does (RFC 9110 section 9.1). */
export class Router {
  readonly #places: ReadonlyMap<string, Place>;
  readonly #hint: string;

  constructor(enabled: readonly EndpointId[]) {
    const open = endpoints.filter(({ id }) => enabled.includes(id));
    this.#places = new Map(endpoints.map(({ path }) => [path, placeOf(path, open)]));
    this.#hint =
      `Every endpoint lies under ${prefix}, and paths are case-sensitive. ` +
      `There are: ${open.map(({ method, path }) => `${method} ${path}`).join(', ')}.`;
  }

  /** Throws Problem not_found, endpoint_disabled or method_not_allowed. */
  find(method: string, path: string): Listed {
    const place = this.#places.get(path);
    if (place === undefined) throw new Problem('not_found', { detail: this.#hint });
    if (place.open.length === 0) throw new Problem('endpoint_disabled');
    const wanted = method === 'HEAD' ? 'GET' : method;
    const found = place.open.find((candidate) => candidate.method === wanted);
    if (found === undefined) throw new Problem('method_not_allowed');
    return found;
  }

  /** Methods that a path takes, for Allow; empty when there is no such path. */
  methods(path: string): readonly string[] {
    return this.#places.get(path)?.methods ?? [];
  }
}

/** What is switched on at one path. */
interface Place {
  open: readonly Listed[];
  methods: readonly string[];
}

function placeOf(path: string, all: readonly Listed[]): Place {
  const open = all.filter((endpoint) => endpoint.path === path);
  return { open, methods: open.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])) };
}
