import { publications } from '../../api/publications.ts';
import type { Context } from '../context.ts';
import type { Reply } from '../exchange.ts';
import type { Route } from '../routes.ts';
import { published } from './openapi.ts';

/** GET demo: a page that compares two photos in the browser, with whatever key is typed into it. */
export function demo(context: Context, routes: readonly Route[]): Reply {
  return published(context, publications(routes, context.services.config).demo());
}
