import { z } from 'zod';
import type { Success } from '../endpoints/endpoint.ts';
import { endpoints } from '../endpoints/index.ts';
import { embeddingsSchema } from '../engine/embeddings.ts';
import * as answers from '../scoring/answers.ts';

/** What the endpoints answer in JSON. */
export function successes(): Success[] {
  return endpoints.flatMap((endpoint) => ('success' in endpoint ? [endpoint.success] : []));
}

/** All schemas by the names of their components. */
export function answerSchemas(): Record<string, z.ZodType> {
  const own = successes().map(({ name, schema }) => [name, schema({ ...answers, z })] as const);
  return { ...Object.fromEntries(own), EmbeddingsRequest: embeddingsSchema, ...answers.shared };
}
