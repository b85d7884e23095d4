import type { Config } from '../config.ts';
import { demoPage } from '../demo/page.ts';
import type { Route } from '../http/routes.ts';
import { openApiDocument } from './document.ts';
import { docsPage } from './page.ts';
import { Publication } from './publication.ts';

/** The documents of a server, each made when it is first asked for. */
class Publications {
  readonly openapi = once(() => new Publication('application/json', JSON.stringify(this.#document())));
  readonly docs = once(() => {
    const { html, policy } = docsPage(this.#document());
    return new Publication(page, html, [
      ['Content-Security-Policy', policy],
      ['Referrer-Policy', 'no-referrer'],
    ]);
  });
  readonly demo = once(() => {
    const { html, headers } = demoPage(this.#routes, this.#config);
    return new Publication(page, html, headers);
  });
  readonly #routes: readonly Route[];
  readonly #config: Config;
  readonly #document = once(() => openApiDocument(this.#routes, this.#config));

  constructor(routes: readonly Route[], config: Config) {
    this.#routes = routes;
    this.#config = config;
  }
}

const page = 'text/html; charset=utf-8';

/** One configuration in a process; in tests, several. */
const made = new WeakMap<Config, Publications>();

export function publications(routes: readonly Route[], config: Config): Publications {
  let all = made.get(config);
  if (all === undefined) {
    all = new Publications(routes, config);
    made.set(config, all);
  }
  return all;
}

function once<T>(make: () => T): () => T {
  let value: { is: T } | undefined;
  return () => {
    value ??= { is: make() };
    return value.is;
  };
}
