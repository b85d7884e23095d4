import { publications } from '../../api/publications.ts';
import type { Context } from '../context.ts';
import type { Reply } from '../exchange.ts';
import type { Route } from '../routes.ts';
import { published } from './openapi.ts';

/** GET docs: the OpenAPI document as a page. */
export function docs(context: Context, routes: readonly Route[]): Reply {
  return published(context, publications(routes, context.services.config).docs());
}
