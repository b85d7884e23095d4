import { readFileSync } from 'node:fs';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OpenApiDocument } from '../../src/api/document.ts';
import { projectPath } from '../../src/paths.ts';
import { AnswerJudge } from '../fixtures/openapi-answers.ts';
import {
  type Answer,
  form,
  head,
  match,
  paths,
  RawClient,
  type Send,
  send,
  twoPhotos,
} from './support/client.ts';
import { WorkerGate } from './support/gate.ts';
import { blank, samples } from './support/pictures.ts';
import { Home, TestServer } from './support/server.ts';

/** The documents as a client gets them, and whether the server keeps to what they say. */

const openapi = '/API/v1.0/openapi.json';
const docs = '/API/v1.0/docs';
const demo = '/API/v1.0/demo';

let server: TestServer;
let keys: Record<'basic' | 'poor', string>;
beforeAll(async () => {
  const home = new Home();
  keys = { basic: home.key({ scopes: ['match:basic'] }), poor: home.key({ rate: 0.001, burst: 1 }) };
  server = await TestServer.start({}, home);
});
afterAll(() => server.stop());

const get = (path: string, init: RequestInit = {}) => fetch(server.url(path), init);

describe.each([
  [openapi, 'application/json'],
  [docs, 'text/html; charset=utf-8'],
  [demo, 'text/html; charset=utf-8'],
])('GET %s', (path, type) => {
  test('needs no key, and may be kept for a while', async () => {
    const answer = await get(path);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe(type);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('x-request-id')).toMatch(/^\w{26}$/);
    expect(answer.headers.get('ratelimit')).toBeNull();
    expect((await answer.text()).length).toBeGreaterThan(1000);
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

  test('answers HEAD with the same headers and no body', async () => {
    const [whole, head] = [await get(path), await get(path, { method: 'HEAD' })];
    const told = (answer: Response) => {
      const { date: _, 'x-request-id': __, ...headers } = Object.fromEntries(answer.headers);
      return headers;
    };
    expect(head.status).toBe(200);
    expect(told(head)).toEqual(told(whole));
    expect(Number(head.headers.get('content-length'))).toBe(Buffer.byteLength(await whole.text()));
    expect(await head.text()).toBe('');
  });

  test.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('is not to be had with %s', async (method) => {
    const answer = await send(server, { path, method, key: null });
    expect(answer).toMatchObject({ status: 405, body: { code: 'method_not_allowed' } });
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
  });
});

describe('the document', () => {
  test('of a server with every default is the one in docs/', async () => {
    const committed = JSON.parse(readFileSync(projectPath('docs/openapi.json'), 'utf8'));
    expect(await (await get(openapi)).json()).toEqual(committed);
  });
});

describe('the page', () => {
  test('may be shown, and nothing more', async () => {
    const { headers } = await get(docs);
    const policy = headers.get('content-security-policy')!.split('; ');
    expect(policy).toContain("default-src 'none'");
    expect(policy.filter((rule) => rule.startsWith('script-src'))).toEqual([]);
    expect(policy.join()).not.toMatch(/unsafe|https?:|\*/);
    expect(headers.get('referrer-policy')).toBe('no-referrer');
  });

  test('explains a problem where its type points to', async () => {
    const { body } = await match(server, { image1: samples.one });
    const [path, anchor] = body.type.split('#');
    const page = await (await get(path)).text();
    expect(page).toContain(`id="${anchor}"`);
  });
});

describe('switched off', () => {
  let quiet: TestServer;
  beforeAll(async () => {
    quiet = await TestServer.start({
      env: { FACEMATCH_ENDPOINTS: 'match', FACEMATCH_MAX_BODY_BYTES: '3145728' },
      until: 'listening',
    });
  });
  afterAll(() => quiet.stop());

  test.each([openapi, docs, demo])('%s is endpoint_disabled', async (path) => {
    for (const method of ['GET', 'POST']) {
      const answer = await send(quiet, { path, method, key: null });
      expect(answer).toMatchObject({ status: 404, body: { code: 'endpoint_disabled' } });
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(answer.headers.get('etag')).toBeNull();
    }
  });
});

describe('a server with its own limits', () => {
  let own: TestServer;
  beforeAll(async () => {
    own = await TestServer.start({
      env: { FACEMATCH_ENDPOINTS: 'match,openapi,docs', FACEMATCH_MAX_BODY_BYTES: '3145728' },
      until: 'listening',
    });
  });
  afterAll(() => own.stop());

  test('tells them, and only of what is switched on, in both documents', async () => {
    const [document, page] = await Promise.all(
      [openapi, docs].map(async (path) => (await fetch(own.url(path))).text()),
    );
    for (const text of [document!, page!]) {
      expect(text).toContain('Body: 3 MiB');
      expect(text).toContain(paths.match);
      expect(text).not.toContain(paths.advanced);
      expect(text).not.toContain(paths.models);
    }
  });
});

describe('by the document', () => {
  let judge: AnswerJudge;
  let large: Buffer;
  beforeAll(async () => {
    judge = new AnswerJudge((await (await get(openapi)).json()) as OpenApiDocument);
    large = await blank(9000, 6000, 'png');
  });

  const photos = () => form(twoPhotos());
  const cut = samples.one.subarray(0, 3000);
  const get200 = { method: 'GET', path: paths.models };
  const pdf = Buffer.from('%PDF-1.7\n');

  test.each<[what: string, status: number, request: () => Send | Promise<Send>]>([
    ['a match', 200, () => ({ body: photos() })],
    [
      'a match with everything set',
      200,
      () => ({
        path: paths.advanced,
        body: form({
          ...twoPhotos(),
          threshold_percent: '12.5',
          image1_face_index: '0',
          image2_face_index: '-1',
          accuracy_mode: 'fast',
          use_heuristic_fallback: 'false',
          min_det_score: '0.5',
          auto_pair_best: 'false',
          reject_low_quality: 'false',
          colour: 'blue',
        }),
      }),
    ],
    [
      'PNG and WebP',
      200,
      async () => ({
        body: form({
          image1: await sharp(samples.one).png({ compressionLevel: 1 }).toBuffer(),
          image2: await sharp(samples.three).webp().toBuffer(),
        }),
      }),
    ],
    ['the models', 200, () => get200],
    [
      'invalid_multipart',
      400,
      () => ({ body: 'x', headers: { 'content-type': 'multipart/form-data; boundary=b' } }),
    ],
    ['missing_field', 400, () => ({ body: form({ image2: samples.one }) })],
    ['invalid_field', 400, () => ({ body: form({ ...twoPhotos(), threshold_percent: 'NaN' }) })],
    ['duplicate_field', 400, () => ({ body: form({ image1: [samples.one, samples.one] }) })],
    ['missing_api_key', 401, () => ({ ...get200, key: null })],
    ['invalid_api_key', 401, () => ({ ...get200, key: 'fm_x_y' })],
    ['forbidden_scope', 403, () => ({ path: paths.advanced, body: photos(), key: keys.basic })],
    ['not_found', 404, () => ({ method: 'GET', path: '/API/v1.0/nowhere' })],
    ['method_not_allowed', 405, () => ({ method: 'DELETE', path: paths.match })],
    ['body_too_large', 413, () => ({ body: form({ image1: Buffer.alloc(21 * 1024 * 1024) }) })],
    ['image_too_large', 413, () => ({ body: form({ image1: Buffer.alloc(11 * 1024 * 1024) }) })],
    ['unsupported_media_type', 415, () => ({ body: '{}', headers: { 'content-type': 'application/json' } })],
    ['unsupported_image_format', 415, () => ({ body: form({ image1: samples.one, image2: pdf }) })],
    ['image_decode_failed', 422, () => ({ body: form({ image1: cut, image2: samples.one }) })],
    ['image_dimensions', 422, () => ({ body: form({ image1: samples.one, image2: large }) })],
    [
      'no_face_found',
      422,
      async () => {
        const wall = await blank(400, 300, 'webp');
        return { body: form({ image1: wall, image2: wall }) };
      },
    ],
    [
      'face_index_out_of_range',
      422,
      () => ({ path: paths.advanced, body: form({ ...twoPhotos(), image1_face_index: '19' }) }),
    ],
    [
      'low_quality_face',
      422,
      async () => {
        const small = await sharp(samples.one).resize({ width: 160 }).png().toBuffer();
        const fields = { image1: small, image2: small, reject_low_quality: 'true' };
        return { path: paths.advanced, body: form(fields) };
      },
    ],
    [
      'rate_limit_exceeded',
      429,
      async () => {
        await send(server, { ...get200, key: keys.poor });
        return { ...get200, key: keys.poor };
      },
    ],
  ])('%s (%i) is as described, headers and all', async (what, status, request) => {
    const wish = await request();
    const answer = await send(server, wish);
    expect(answer.status).toBe(status);
    if (status >= 400) expect(answer.body.code).toBe(what);
    expect(judge.faultsOf(wish.method ?? 'POST', wish.path ?? paths.match, answer)).toEqual([]);
  });

  test('not_ready, upload_timeout, overloaded, shutting_down and deadline_exceeded are as described', async () => {
    const home = new Home();
    const gate = new WorkerGate(home);
    const limits = {
      FACEMATCH_QUEUE: '0',
      FACEMATCH_DEADLINE_MS: '3000',
      FACEMATCH_UPLOAD_TIMEOUT_MS: '3000',
    };
    gate.close();
    const slow = await TestServer.start({ env: { ...gate.env, ...limits }, until: 'listening' }, home);
    const told: string[] = [];
    const note = (
      answer: Pick<Answer, 'status' | 'headers' | 'body'>,
      method = 'POST',
      path: string = paths.match,
    ) => {
      told.push(answer.body.code);
      expect(judge.faultsOf(method, path, answer)).toEqual([]);
    };

    note(await match(slow, twoPhotos()));
    gate.open();
    await slow.line(slow.stdout, /listens on/);
    const client = new RawClient(slow.port);
    client.write(head(slow, { 'content-length': '1000' }));
    const cutOff = await client.answer();
    note({ ...cutOff, headers: new Headers(cutOff.headers) });
    gate.close();
    const running = match(slow, twoPhotos());
    await slow.metricBecomes('facematch_workers_busy', 1);
    note(await match(slow, twoPhotos()));
    // The one that runs keeps the server from its end until its deadline.
    slow.child.kill('SIGTERM');
    await slow.line(slow.stderr, /shutting down/);
    note(await send(slow, { method: 'GET', path: paths.models }), 'GET', paths.models);
    note(await running);
    gate.open();
    await slow.ended;
    await slow.stop();
    expect(told).toEqual(['not_ready', 'upload_timeout', 'overloaded', 'shutting_down', 'deadline_exceeded']);
  });
});
