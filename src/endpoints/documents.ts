import { define, prefix } from './endpoint.ts';

/** What the server says of itself; src/site makes these documents. */

const all = {
  method: 'GET',
  scope: 'none',
  takes: 'nothing',
} as const;

const page = {
  type: 'text/html; charset=utf-8',
  description: 'The page',
  schema: { type: 'string', description: 'HTML' },
} as const;

const about = { tag: 'documents', curl: [] } as const;

export const openapi = define({
  ...all,
  id: 'openapi',
  path: `${prefix}/openapi.json`,
  document: {
    type: 'application/json',
    description: 'The document',
    schema: { type: 'object', description: 'An OpenAPI 3.1 document' },
  },
  docs: {
    ...about,
    summary: 'Get the OpenAPI document',
    description: 'This interface in OpenAPI 3.1, with the limits and endpoints of this server.',
  },
});

export const docs = define({
  ...all,
  id: 'docs',
  path: `${prefix}/docs`,
  document: page,
  docs: {
    ...about,
    summary: 'Read the documentation',
    description:
      'The same as a page: with search, samples for several languages, and a form that sends requests to this server. It loads ' +
      'nothing from elsewhere.',
  },
});

export const demo = define({
  ...all,
  id: 'demo',
  path: `${prefix}/demo`,
  document: page,
  docs: {
    ...about,
    summary: 'Try it in a browser',
    description:
      `[A page](${prefix}/demo) that takes two photos and a key, sends them to this server and shows the answer: faces, score, pairs, timings. ` +
      'It loads nothing from elsewhere and keeps nothing.',
  },
});
