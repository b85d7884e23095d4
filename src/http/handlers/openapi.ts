import { type Publication, publications } from '../../api/publications.ts';
import type { Context } from '../context.ts';
import type { Reply } from '../exchange.ts';
import type { Route } from '../routes.ts';

/** GET openapi.json. `routes` is the whole table, a parameter because the table itself imports this file. */
export function openapi(context: Context, routes: readonly Route[]): Reply {
  return published(context, publications(routes, context.services.config).openapi());
}

/** Unlike every other answer, a document may be kept: it changes only when the server starts again. */
export function published({ exchange, headers }: Context, publication: Publication): Reply {
  const at = headers.findIndex(([name]) => name === 'Cache-Control');
  headers[at] = ['Cache-Control', 'public, max-age=300'];
  return publication.reply(exchange.request.headers.get('if-none-match'));
}
