import type { Config } from '../config.ts';
import type { Route } from '../http/routes.ts';
import { openApiDocument } from './document.ts';
import { docsPage } from './page.ts';
import { Publication } from './publication.ts';

export interface Publications {
  openapi: Publication;
  docs: Publication;
}

/** One configuration in a process; in tests, several. */
const made = new WeakMap<Config, Publications>();

/** Both documents of a server, made when they are first asked for. */
export function publications(routes: readonly Route[], config: Config): Publications {
  let both = made.get(config);
  if (both === undefined) {
    both = publish(routes, config);
    made.set(config, both);
  }
  return both;
}

function publish(routes: readonly Route[], config: Config): Publications {
  const document = openApiDocument(routes, config);
  const page = docsPage(document);
  return {
    openapi: new Publication('application/json', JSON.stringify(document)),
    docs: new Publication('text/html; charset=utf-8', page.html, [
      ['Content-Security-Policy', page.policy],
      ['Referrer-Policy', 'no-referrer'],
    ]),
  };
}
