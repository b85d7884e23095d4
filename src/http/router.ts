import type { EndpointId } from '../config/config.ts';
import { prefix } from '../endpoints/endpoint.ts';
import { endpoints, type Listed } from '../endpoints/index.ts';
import { Problem } from '../errors.ts';

/** Finds endpoints among those that are switched on. HEAD works wherever GET does (RFC 9110 section 9.1). */
export class Router {
  readonly #open: ReadonlyMap<string, readonly Listed[]>;
  readonly #hint: string;

  constructor(enabled: readonly EndpointId[]) {
    const open = endpoints.filter(({ id }) => enabled.includes(id));
    this.#open = new Map(endpoints.map(({ path }) => [path, open.filter((one) => one.path === path)]));
    const pages = open.filter((one) => 'document' in one && one.document.type.startsWith('text/html'));
    this.#hint =
      (pages.length > 0 ? `To read and to try: ${pages.map(({ path }) => path).join(', ')}. ` : '') +
      `Every endpoint lies under ${prefix}, and paths are case-sensitive. ` +
      `There are: ${open.map(({ method, path }) => `${method} ${path}`).join(', ')}.`;
  }

  /** Throws Problem not_found, endpoint_disabled or method_not_allowed. */
  find(method: string, path: string): Listed {
    const open = this.#open.get(path);
    if (open === undefined) throw new Problem('not_found', { detail: this.#hint });
    if (open.length === 0) throw new Problem('endpoint_disabled');
    const wanted = method === 'HEAD' ? 'GET' : method;
    const found = open.find((candidate) => candidate.method === wanted);
    if (found === undefined) throw new Problem('method_not_allowed');
    return found;
  }

  /** Methods that a path takes, for Allow; empty when there is no such path. */
  methods(path: string): readonly string[] {
    const open = this.#open.get(path) ?? [];
    return open.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  }
}
