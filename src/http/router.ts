import { prefix } from '../endpoints/endpoint.ts';
import { type Form, FormRules } from '../endpoints/form.ts';
import { endpoints, type Listed } from '../endpoints/index.ts';
import { Problem } from '../errors.ts';
import { type Body, embeddingsBody, imagesBody } from './body/kinds.ts';
import type { Services } from './context.ts';

/** An endpoint with its body format, which depends on Content-Type. */
export type Route = ImagesRoute | EmbeddingsRoute | { takes: 'nothing'; endpoint: Taking<'nothing'> };

export interface ImagesRoute {
  takes: 'images';
  endpoint: Taking<'images'>;
  rules: FormRules;
  body(type: string | undefined): Body<Form>;
}

export interface EmbeddingsRoute {
  takes: 'embeddings';
  endpoint: Taking<'embeddings'>;
  body(): Body<undefined>;
}

type Taking<T extends Listed['takes']> = Extract<Listed, { takes: T }>;

function routeOf(endpoint: Listed, services: Services): Route {
  const { takes } = endpoint;
  if (takes === 'nothing') return { takes, endpoint };
  if (takes === 'images') {
    const rules = new FormRules(endpoint);
    return { takes, endpoint, rules, body: imagesBody(rules, services) };
  }
  const body = embeddingsBody(services.config);
  return { takes, endpoint, body: () => body };
}

/** Finds the endpoint of a request. HEAD is available for every path with GET (RFC 9110, section 9.1). */
export class Router {
  readonly #open: ReadonlyMap<string, readonly Route[]>;
  readonly #hint: string;

  constructor(services: Services) {
    const open = endpoints.filter(({ id }) => services.config.endpoints.includes(id));
    const routes = open.map((endpoint) => routeOf(endpoint, services));
    this.#open = new Map(
      endpoints.map(({ path }) => [path, routes.filter(({ endpoint }) => endpoint.path === path)]),
    );
    const pages = open.filter((one) => 'document' in one && one.document.type.startsWith('text/html'));
    this.#hint =
      (pages.length > 0 ? `Documentation and demo: ${pages.map(({ path }) => path).join(', ')}. ` : '') +
      `All paths begin with ${prefix} and are case-sensitive. ` +
      `The available endpoints are: ${open.map(({ method, path }) => `${method} ${path}`).join(', ')}.`;
  }

  /** Returns the route of a request. Throws Problem not_found, endpoint_disabled or method_not_allowed. */
  find(method: string, path: string): Route {
    const open = this.#open.get(path);
    if (open === undefined) throw new Problem('not_found', { detail: this.#hint });
    if (open.length === 0) throw new Problem('endpoint_disabled');
    const wanted = method === 'HEAD' ? 'GET' : method;
    const found = open.find(({ endpoint }) => endpoint.method === wanted);
    if (found === undefined) throw new Problem('method_not_allowed');
    return found;
  }

  /** Returns the methods of a path, for Allow; empty for an unknown or disabled path. */
  methods(path: string): readonly string[] {
    const open = this.#open.get(path) ?? [];
    return open.flatMap(({ endpoint: { method } }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  }
}
