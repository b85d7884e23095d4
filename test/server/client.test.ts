import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type ClientOptions, FacematchClient, FacematchError } from 'facematch/client';
import { describe, expect, test } from 'vitest';
import { endpointIds } from '../../src/config/config.ts';
import { projectPath } from '../../src/config/paths.ts';
import { newFolder } from '../support/folder.ts';
import { run } from './support/cli.ts';
import { empty, type Fields, type Json, lasting, match, paths, send } from './support/client.ts';
import { photos } from './support/client-programs.ts';
import { WorkerGate } from './support/gate.ts';
import { blank, samples } from './support/pictures.ts';
import { proxy, reset } from './support/proxy.ts';
import { Home, TestServer } from './support/server.ts';

/** `facematch/client`, as a program that depends on the package imports it. */

const home = new Home();
const gate = new WorkerGate(home);
const keys = {
  basic: home.key({ scopes: ['match:basic'] }),
  /** The next token comes after a second, after ten minutes. */
  poor: home.key({ rate: 1, burst: 1 }),
  poorest: home.key({ rate: 1 / 600, burst: 1 }),
  poorestToo: home.key({ rate: 1 / 600, burst: 1 }),
};
const { one, three } = samples;
const env = { ...gate.env, FACEMATCH_ENDPOINTS: endpointIds.join(','), FACEMATCH_QUEUE: '1' };
const server = await TestServer.forFile({ env }, home);

/** A client, and the status of every answer that it gets; 0 where there is none. */
function watched(options: Partial<ClientOptions> = {}) {
  const statuses: number[] = [];
  const watchedFetch: typeof fetch = async (...request) => {
    const at = statuses.push(0) - 1;
    const response = await fetch(...request);
    statuses[at] = response.status;
    return response;
  };
  const client = new FacematchClient({
    url: server.address,
    key: server.key,
    fetch: watchedFetch,
    ...options,
  });
  return { client, statuses };
}

async function errorOf(answer: Promise<unknown>): Promise<FacematchError> {
  const error = await answer.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(FacematchError);
  return error as FacematchError;
}

const raw = async (path: string, fields: Fields) => lasting((await match(server, fields, { path })).body);

test.each<[given: unknown, message: RegExp]>([
  ['one.jpg', /^image1 is text, .*readFile/],
  [Readable.from([]), /^image1 is a stream: .*node:stream\/consumers/],
  [new Blob([]).stream(), /^image1 is a stream/],
  [Promise.resolve(one), /^image1 is a promise/],
  [undefined, /^image1 is undefined/],
  [{ uri: 'one.jpg' }, /^image1 is an object/],
])('%o for a picture is a TypeError, and nothing is sent', async (given, message) => {
  for (const json of [false, true]) {
    const { client, statuses } = watched({ json });
    await expect(client.match(given as Buffer, three)).rejects.toThrow(message);
    await expect(client.many(one, [given as Buffer])).rejects.toThrow(TypeError);
    expect(statuses).toEqual([]);
  }
});

describe('answers as the server does', () => {
  const client = () => new FacematchClient({ url: `${server.address}/`, key: server.key });

  test('match', async () => {
    const buffer = Uint8Array.from(one).buffer;
    expect(lasting(await client().match(buffer, new Blob([three])))).toEqual(
      await raw(paths.match, { image1: one, image2: three }),
    );
  });

  test('match with fields of the advanced endpoint', async () => {
    const fields = { accuracy_mode: 'fast', image1_face_index: 0, min_det_score: 1e-7 } as const;
    const text = { accuracy_mode: 'fast', image1_face_index: '0', min_det_score: '0.0000001' };
    expect(lasting(await client().match(one, three, fields))).toEqual(
      await raw(paths.advanced, { image1: one, image2: three, ...text }),
    );
  });

  test('match with a threshold alone, by the scope match:basic', async () => {
    const { client } = watched({ key: keys.basic });
    expect(await client.match(one, three, { threshold_percent: 99.9 })).toMatchObject({
      threshold_percent: 99.9,
    });
    const error = await errorOf(client.match(one, three, { min_det_score: 0.4 }));
    expect(error.problem).toMatchObject({ code: 'forbidden_scope', required_scope: 'match:advanced' });
  });

  test('many, with the names of files', async () => {
    const files = [new File([three], 'é "b"\r\n.jpg'), new File(['no picture'], 'none.txt')];
    const answer = await client().many(one, [...files, three], { accuracy_mode: 'fast' });
    const { results, ...rest } = await raw(paths.many, {
      image1: one,
      image2: [three, Buffer.from('no picture'), three],
      accuracy_mode: 'fast',
    });
    const names = answer.results.map(({ filename }) => filename);
    expect(lasting(answer)).toEqual({
      ...rest,
      results: results.map((result: Json, index: number) => ({ ...result, filename: names[index] })),
    });
    expect(names).toEqual(['é "b"\r\n.jpg', 'none.txt', 'image2']);
  });

  test('the same when pictures go as JSON', async () => {
    const client = new FacematchClient({ url: server.address, key: server.key, json: true });
    const fields = { accuracy_mode: 'fast', image1_face_index: 0, min_det_score: undefined } as never;
    expect(lasting(await client.match(one, new Blob([three]), fields))).toEqual(
      await raw(paths.advanced, {
        image1: one,
        image2: three,
        accuracy_mode: 'fast',
        image1_face_index: '0',
      }),
    );
    const { results } = await client.many(one.subarray(0), [three, Buffer.from('no picture')]);
    expect(results.map((result) => ('match' in result ? result.match : result.problem.code))).toEqual([
      ...[true, 'unsupported_image_format'],
    ]);
  });

  test('detect and embed, and what embed gives to matchEmbeddings', async () => {
    expect(lasting(await client().detect(one))).toEqual(
      await raw('/API/v1.0/face/detect/upload', { image: one }),
    );
    const embedded = await client().embed(one, { face_index: -1 });
    expect(lasting(embedded)).toEqual(await raw(paths.embed, { image: one }));
    const { pack, version, accuracy_mode } = embedded.embedding;
    const [embedding, ...others] = embedded.image.faces.map((face) => face.embedding!);
    const candidates = others.map((other, index) => ({ id: String(index), embedding: other }));
    const question = { embedding: embedding!, candidates, pack, version, accuracy_mode };
    const { body } = await send(server, {
      path: paths.embeddings,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(question),
    });
    expect(body.results).toHaveLength(candidates.length);
    expect(lasting(await client().matchEmbeddings(question))).toEqual(lasting(body));
  });

  test('models', async () => {
    expect(await client().models()).toEqual((await send(server, { path: paths.models, method: 'GET' })).body);
  });
});

test('a problem is an error with its code and its members, and asked once', async () => {
  const { client, statuses } = watched();
  const error = await errorOf(client.match(one, await blank(64, 64, 'png')));
  expect(error).toMatchObject({ status: 422, code: 'no_face_found', retryAfter_ms: undefined });
  expect(error.problem).toMatchObject({ errors: [{ field: 'image2' }], request_id: expect.any(String) });
  expect(error.message).toMatch(/^422 no_face_found: .*\(request_id \w{26}\)$/);
  expect(statuses).toEqual([422]);
});

test.each([{ url: 'nowhere' }, { url: 'file:///etc/hosts' }, { key: 'a\nb' }])(
  'a client that could ask nobody is not made: %j',
  (options) => {
    expect(() => new FacematchClient({ url: 'http://127.0.0.1', key: 'k', ...options })).toThrow(TypeError);
  },
);

describe('comes again', () => {
  test('after 429, and not before Retry-After is over: one refusal, then the answer', async () => {
    await empty(server, keys.poor);
    const { client, statuses } = watched({ key: keys.poor });
    expect(await client.match(one, three)).toMatchObject({ match: true });
    expect(statuses).toEqual([429, 200]);
  });

  test('after 503, when the queue was full', async () => {
    const { client, statuses } = watched();
    gate.close();
    const held = [match(server, { image1: one, image2: three })];
    await server.metricBecomes('facematch_workers_busy', 1);
    held.push(match(server, { image1: one, image2: three }));
    await server.metricBecomes('facematch_queue_depth', 1);
    const overloaded = 'facematch_refusals_total{reason="load",code="overloaded"}';
    const before = await server.metric(overloaded);
    const answer = client.match(one, three);
    await server.metricBecomes(overloaded, before + 1);
    gate.open();
    await Promise.all(held);
    expect(await answer).toMatchObject({ match: true });
    expect(statuses).toEqual([503, 200]);
  });

  test('after a connection that was reset, with the same pictures', async () => {
    const through = await proxy(server.port, (socket, count) => count === 1 && reset(socket));
    const { client, statuses } = watched({ url: through.url });
    expect(await client.match(one, three)).toMatchObject({ match: true });
    through.close();
    expect(statuses).toEqual([0, 200]);
  });
});

describe('gives up', () => {
  test('when every connection is reset', async () => {
    const through = await proxy(server.port, reset);
    const { client } = watched({ url: through.url, retries: 1 });
    const error = await errorOf(client.models());
    through.close();
    expect(error).toMatchObject({ code: 'network', status: undefined, problem: undefined });
    expect(error.cause).toBeInstanceOf(Error);
    expect(through.connections).toBe(2);
  });

  test('at once when Retry-After asks for more than the longest wait', async () => {
    await empty(server, keys.poorest);
    const { client, statuses } = watched({ key: keys.poorest });
    const error = await errorOf(client.match(one, three));
    expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    expect(error.retryAfter_ms).toBeGreaterThan(60_000);
    expect(statuses).toEqual([429]);
  });

  test('when no answer comes in time, and does not come again', async () => {
    gate.close();
    const { client, statuses } = watched({ timeout_ms: 200 });
    const error = await errorOf(client.match(one, three));
    gate.open();
    expect(error).toMatchObject({ code: 'timeout', status: undefined });
    expect(statuses).toEqual([0]);
  });

  /** What a gateway in front of the server may say; the server itself cannot be made to. */
  test.each([
    [503, { 'retry-after': '0' }, 2],
    [504, { 'retry-after': '0' }, 2],
    [408, { 'retry-after': '0' }, 2],
    [502, {}, 1],
    [200, {}, 1],
    [307, { location: '/elsewhere' }, 1],
  ])('after %i of a gateway with %j: asks %i times', async (status, headers, times) => {
    const gateway = createServer((request, response) => {
      request.resume();
      request.on('end', () => response.writeHead(status, headers).end('<h1>Oops</h1>'));
    });
    await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.2', resolve));
    const { port } = gateway.address() as { port: number };
    const { client, statuses } = watched({ url: `http://127.0.0.2:${port}`, retries: 1 });
    const error = await errorOf(client.match(one, three));
    gateway.close();
    expect(error).toMatchObject({ code: 'unexpected', status, message: `${status}: <h1>Oops</h1>` });
    expect(statuses).toEqual(Array(times).fill(status));
  });
});

describe('an aborted signal', () => {
  const reason = new Error('no longer wanted');

  test('asks nobody', async () => {
    const { client, statuses } = watched();
    await expect(client.models({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(statuses).toEqual([]);
  });

  test('ends a request, which the server then gives up', async () => {
    gate.close();
    const { client, statuses } = watched();
    const leaving = new AbortController();
    const answer = client.match(one, three, {}, { signal: leaving.signal });
    await Promise.all([
      expect(answer).rejects.toBe(reason),
      server.metricBecomes('facematch_workers_busy', 1).then(() => leaving.abort(reason)),
    ]);
    gate.open();
    await server.metricBecomes('facematch_workers_busy', 0);
    expect(statuses).toEqual([0]);
  });

  test('ends the wait before a retry', async () => {
    await empty(server, keys.poorestToo);
    const { client, statuses } = watched({ key: keys.poorestToo, maxWait_ms: 1e6 });
    const refused = 'facematch_requests_total{route="match",status="429",code="rate_limit_exceeded"}';
    const before = await server.metric(refused);
    const leaving = new AbortController();
    const answer = client.match(one, three, {}, { signal: leaving.signal });
    await Promise.all([
      expect(answer).rejects.toBe(reason),
      server.metricBecomes(refused, before + 1).then(() => leaving.abort(reason)),
    ]);
    expect(statuses).toEqual([429]);
  });
});

test('the example of docs/clients/README.md runs where the package is installed', async () => {
  const folder = newFolder();
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(projectPath('.'), join(folder, 'node_modules/facematch'));
  for (const [name, path] of Object.entries({ one: photos.one, two: photos.three, three: photos.two }))
    copyFileSync(path, join(folder, `${name}.jpg`));
  const page = readFileSync(projectPath('docs/clients/README.md'), 'utf8');
  const [, program] = /```js\n(.*?)```/s.exec(page)!;
  writeFileSync(join(folder, 'program.mjs'), program!);
  const ask = (key: string) =>
    run(join(folder, 'program.mjs'), [], folder, { FACEMATCH_URL: server.address, FACEMATCH_KEY: key });
  const { stdout, stderr } = await ask(server.key);
  expect(stderr).toBe('');
  expect(stdout).toMatch(/^true [\d.]+\n\[ true, false \]\n$/);
  expect((await ask('fm_wrong')).stderr).toMatch(/^invalid_api_key The key is unknown.*\n$/);
});
