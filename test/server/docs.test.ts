import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import type { OpenApiDocument } from '../../src/site/document.ts';
import { AnswerJudge } from '../fixtures/openapi-answers.ts';
import { form, paths, type Send, send, twoPhotos } from './support/client.ts';
import { TestServer } from './support/server.ts';

/** The documents as a client gets them. Whether refusals are as they say is tested in contract-errors.test.ts. */

const openapi = '/API/v1.0/openapi.json';
const docs = '/API/v1.0/docs';
const demo = '/API/v1.0/demo';

const server = await TestServer.forFile();

const get = (path: string, init: RequestInit = {}) => fetch(server.url(path), init);

describe.each([
  [openapi, 'application/json'],
  [docs, 'text/html; charset=utf-8'],
  [demo, 'text/html; charset=utf-8'],
])('GET %s', (path, type) => {
  test('needs no key, and may be kept for a while', async () => {
    const answer = await get(path);
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': type,
      'cache-control': 'public, max-age=300',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(/^\w{26}$/),
      vary: 'Accept-Encoding',
      'content-encoding': 'gzip',
    });
    expect(answer.headers.get('ratelimit')).toBeNull();
    const plain = await get(path, { headers: { 'accept-encoding': 'identity' } });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(await plain.text()).toBe(await answer.text());
  });

  test('is not sent again to a client that has it', async () => {
    const etag = (await get(path)).headers.get('etag')!;
    const same = await get(path, { headers: { 'if-none-match': etag } });
    expect([same.status, same.headers.get('etag'), await same.text()]).toEqual([304, etag, '']);
    expect(same.headers.get('content-length')).toBeNull();
    expect(same.headers.get('cache-control')).toBe('public, max-age=300');
    const other = await get(path, { headers: { 'if-none-match': '"old"' } });
    expect([other.status, other.headers.get('etag')]).toEqual([200, etag]);
  });
});

test('whoever opens the root is told where the pages are', async () => {
  const detail = expect.stringContaining(`To read and to try: ${docs}, ${demo}. Every endpoint`);
  expect(await (await get('/')).json()).toMatchObject({ status: 404, detail });
});

test('a server with its own limits tells them, and only of what is switched on, in both documents', async () => {
  const env = { FACEMATCH_ENDPOINTS: 'match,openapi,docs', FACEMATCH_MAX_BODY_BYTES: '3145728' };
  const own = await TestServer.forTest({ env, until: 'listening' });
  for (const path of [openapi, docs]) {
    const text = await (await fetch(own.url(path))).text();
    expect(text).toContain('Body: 3 MiB');
    expect(text).toContain(paths.match);
    for (const off of [paths.advanced, paths.models, demo]) expect(text).not.toContain(off);
  }
});

describe('the document', async () => {
  const document = (await (await get(openapi)).json()) as OpenApiDocument;

  test('of a server with every default is the one in docs/', () => {
    expect(document).toEqual(JSON.parse(readFileSync(projectPath('docs/openapi.json'), 'utf8')));
  });

  const everything = {
    ...{ ...twoPhotos(), threshold_percent: '12.5', accuracy_mode: 'fast', min_det_score: '0.5' },
    ...{ image1_face_index: '0', image2_face_index: '-1', auto_pair_best: 'false', colour: 'blue' },
    ...{ use_heuristic_fallback: 'false', reject_low_quality: 'false' },
  };

  test.each<[what: string, request: () => Send]>([
    ['a match', () => ({ body: form(twoPhotos()) })],
    ['a match with everything set', () => ({ path: paths.advanced, body: form(everything) })],
    ['the models', () => ({ method: 'GET', path: paths.models })],
  ])('describes the answer to %s, headers and all', async (_what, request) => {
    const wish = request();
    const answer = await send(server, wish);
    expect(answer.status).toBe(200);
    const { method = 'POST', path = paths.match } = wish;
    expect(new AnswerJudge(document).faultsOf(method, path, answer)).toEqual([]);
  });
});
