import type { EndpointId } from '../config/config.ts';
import { challenge } from './challenge.ts';
import { detect } from './detect.ts';
import { demo, docs, openapi } from './documents.ts';
import { embed } from './embed.ts';
import type { Endpoint } from './endpoint.ts';
import { match, matchAdvanced } from './match.ts';
import { matchEmbeddings } from './match-embeddings.ts';
import { matchLive } from './match-live.ts';
import { matchMany } from './match-many.ts';
import { matchPerson } from './match-person.ts';
import { models } from './models.ts';

/** The endpoints by id, in the order in which documents list them. */
const table = {
  match,
  match_advanced: matchAdvanced,
  match_many: matchMany,
  match_person: matchPerson,
  match_embeddings: matchEmbeddings,
  challenge,
  match_live: matchLive,
  detect,
  embed,
  models,
  openapi,
  docs,
  demo,
} satisfies { [Id in EndpointId]: Endpoint & { id: Id } };

export type Scope = Exclude<(typeof table)[EndpointId]['scope'], 'any' | 'none'>;

export type Listed = Endpoint & { scope: Scope | 'any' | 'none' };

export const endpoints: readonly Listed[] = Object.values(table);
