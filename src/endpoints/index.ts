import { detect } from './detect.ts';
import { demo, docs, openapi } from './documents.ts';
import { embed } from './embed.ts';
import type { Endpoint } from './endpoint.ts';
import { match, matchAdvanced } from './match.ts';
import { matchEmbeddings } from './match-embeddings.ts';
import { matchMany } from './match-many.ts';
import { models } from './models.ts';

/** The endpoints, in the order in which documents list them. */
const list = [
  match,
  matchAdvanced,
  matchMany,
  matchEmbeddings,
  detect,
  embed,
  models,
  openapi,
  docs,
  demo,
] as const;

export type EndpointId = (typeof list)[number]['id'];
export type Scope = Exclude<(typeof list)[number]['scope'], 'any' | 'none'>;

/** An endpoint of the list. */
export type Listed = Endpoint & { id: EndpointId; scope: Scope | 'any' | 'none' };

export const endpoints: readonly Listed[] = list;
