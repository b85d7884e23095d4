import type { EndpointId } from '../config.ts';
import { Problem } from '../errors.ts';
import type { Scope } from '../gate/keys.ts';

/** The route table. src/server/listeners.ts has the handler of each endpoint. */
export interface Route {
  method: 'GET' | 'POST';
  /** Exact and case-sensitive. */
  path: string;
  endpoint: EndpointId;
  /** The scope that a key needs; 'any' for any valid key, 'none' when no key is needed. */
  scope: Scope | 'any' | 'none';
  /** Tokens taken from the key's bucket, before the body is read. */
  cost: number;
}

export const prefix = '/API/v1.0';

export const routes: readonly Route[] = [
  {
    method: 'POST',
    path: `${prefix}/face/match/upload`,
    endpoint: 'match',
    scope: 'match:basic',
    cost: 1,
  },
  {
    method: 'POST',
    path: `${prefix}/face/match/upload/advanced`,
    endpoint: 'match_advanced',
    scope: 'match:advanced',
    cost: 1,
  },
  {
    method: 'POST',
    path: `${prefix}/face/match/upload/many`,
    endpoint: 'match_many',
    scope: 'match:many',
    cost: 1,
  },
  {
    method: 'POST',
    path: `${prefix}/face/detect/upload`,
    endpoint: 'detect',
    scope: 'detect',
    cost: 1,
  },
  {
    method: 'POST',
    path: `${prefix}/face/embed/upload`,
    endpoint: 'embed',
    scope: 'embed',
    cost: 1,
  },
  {
    method: 'POST',
    path: `${prefix}/face/match/embeddings`,
    endpoint: 'match_embeddings',
    scope: 'match:embeddings',
    cost: 1,
  },
  {
    method: 'GET',
    path: `${prefix}/models`,
    endpoint: 'models',
    scope: 'any',
    cost: 1,
  },
  {
    method: 'GET',
    path: `${prefix}/openapi.json`,
    endpoint: 'openapi',
    scope: 'none',
    cost: 0,
  },
  {
    method: 'GET',
    path: `${prefix}/docs`,
    endpoint: 'docs',
    scope: 'none',
    cost: 0,
  },
  {
    method: 'GET',
    path: `${prefix}/demo`,
    endpoint: 'demo',
    scope: 'none',
    cost: 0,
  },
];

/**
 * Finds routes among those that are switched on. HEAD works wherever GET does (RFC 9110 section 9.1).
 */
export class Router {
  readonly #places: ReadonlyMap<string, Place>;
  readonly #hint: string;

  constructor(table: readonly Route[], enabled: readonly EndpointId[]) {
    const open = table.filter((route) => enabled.includes(route.endpoint));
    this.#places = new Map(table.map(({ path }) => [path, placeOf(path, open)]));
    this.#hint =
      `Every endpoint lies under ${prefix}, and paths are case-sensitive. ` +
      `There are: ${open.map(({ method, path }) => `${method} ${path}`).join(', ')}.`;
  }

  /** Throws Problem not_found, endpoint_disabled or method_not_allowed. */
  find(method: string, path: string): Route {
    const place = this.#places.get(path);
    if (place === undefined) throw new Problem('not_found', { detail: this.#hint });
    if (place.routes.length === 0) throw new Problem('endpoint_disabled');
    const wanted = method === 'HEAD' ? 'GET' : method;
    const route = place.routes.find((candidate) => candidate.method === wanted);
    if (route === undefined) throw new Problem('method_not_allowed');
    return route;
  }

  /** Methods that a path takes, for Allow; empty when there is no such path. */
  methods(path: string): readonly string[] {
    return this.#places.get(path)?.methods ?? [];
  }
}

/** What is switched on at one path. */
interface Place {
  routes: readonly Route[];
  methods: readonly string[];
}

function placeOf(path: string, open: readonly Route[]): Place {
  const routes = open.filter((route) => route.path === path);
  return { routes, methods: routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])) };
}
