import { define, prefix } from './endpoint.ts';

/** Endpoints of the API documents and the demo page. src/site and src/demo generate their content. */

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
    description: 'Describes this API in OpenAPI 3.1, with the limits and enabled endpoints of this server.',
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
      'The API reference as a web page, with search, code samples in several languages, and a form that sends requests to this server. ' +
      'It loads nothing from other hosts.',
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
      `[The demo page](${prefix}/demo) sends photos to this server and shows the response: faces, score, pairs, timings. ` +
      'It loads nothing from other hosts and stores nothing.',
  },
});
