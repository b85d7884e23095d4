import { define, prefix } from './endpoint.ts';

/** What the server says of itself; src/site makes these documents. */

const page = {
  type: 'text/html; charset=utf-8',
  description: 'The page',
  schema: { type: 'string', description: 'HTML' },
} as const;

export const openapi = define({
  id: 'openapi',
  method: 'GET',
  path: `${prefix}/openapi.json`,
  scope: 'none',
  price: 0,
  takes: 'nothing',
  document: {
    type: 'application/json',
    description: 'The document',
    schema: { type: 'object', description: 'An OpenAPI 3.1 document' },
  },
  docs: {
    tag: 'documents',
    summary: 'Get the OpenAPI document',
    description: 'This interface in OpenAPI 3.1, with the limits and endpoints of this server.',
    curl: [],
  },
});

export const docs = define({
  id: 'docs',
  method: 'GET',
  path: `${prefix}/docs`,
  scope: 'none',
  price: 0,
  takes: 'nothing',
  document: page,
  docs: {
    tag: 'documents',
    summary: 'Read the documentation',
    description:
      'The same as a page: with search, samples for several languages, and a form that sends requests to this server. It loads ' +
      'nothing from elsewhere.',
    curl: [],
  },
});

export const demo = define({
  id: 'demo',
  method: 'GET',
  path: `${prefix}/demo`,
  scope: 'none',
  price: 0,
  takes: 'nothing',
  document: page,
  docs: {
    tag: 'documents',
    summary: 'Try it in a browser',
    description:
      `[A page](${prefix}/demo) that takes two photos and a key, sends them to this server and shows the answer: faces, score, pairs, timings. ` +
      'It loads nothing from elsewhere and keeps nothing.',
    curl: [],
  },
});
