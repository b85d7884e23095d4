import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { endpointIds } from '../../src/config/config.ts';
import { projectPath } from '../../src/config/paths.ts';
import { newFolder } from '../support/folder.ts';
import { execute } from './support/cli.ts';
import { empty, type Fields, type Json, lasting, match, paths, send } from './support/client.ts';
import { example, isInstalled, photos } from './support/client-programs.ts';
import { WorkerGate } from './support/gate.ts';
import { blank, samples } from './support/pictures.ts';
import { proxy, reset } from './support/proxy.ts';
import { Home, TestServer } from './support/server.ts';

/** docs/clients/facematch.py beside a program that imports it, as its readers copy it. */

const folder = newFolder();
const home = new Home();
const gate = new WorkerGate(home);
const keys = {
  basic: home.key({ scopes: ['match:basic'] }),
  /** The next token comes after a second, after ten minutes. */
  poor: home.key({ rate: 1 / 3, burst: 1 }),
  poorest: home.key({ rate: 1 / 600, burst: 1 }),
};
const { one, two, three } = samples;
const odd = 'é "b"\r\n; name=image1.jpg';

copyFileSync(example('facematch.py'), join(folder, 'facematch.py'));
for (const [name, path] of Object.entries({ one: photos.one, two: photos.three, three: photos.two }))
  copyFileSync(path, join(folder, `${name}.jpg`));
writeFileSync(join(folder, odd), three);
writeFileSync(join(folder, 'nobody.png'), await blank(64, 64, 'png'));
const env = { ...gate.env, FACEMATCH_ENDPOINTS: endpointIds.join(','), FACEMATCH_QUEUE: '1' };
const server = await TestServer.forFile({ env }, home);

interface Where {
  url?: string;
  key?: string;
}

/** Runs python3 in the folder. */
function python(args: readonly string[], { url = server.address, key = server.key }: Where = {}) {
  const env = { PATH: process.env.PATH, FACEMATCH_URL: url, FACEMATCH_KEY: key, PYTHONUTF8: '1' };
  return execute('python3', args, folder, env);
}

/** The value of an expression of `client`, or the members of the error that it raises. */
async function value(expression: string, where: Where = {}, options = ''): Promise<Json> {
  const script = `
import json, os, facematch
client = facematch.FacematchClient(os.environ["FACEMATCH_URL"], os.environ["FACEMATCH_KEY"]${options})
try:
    print(json.dumps(${expression}))
except facematch.FacematchError as error:
    print(json.dumps({"message": str(error), **vars(error)}))
`;
  const { code, stdout, stderr } = await python(['-c', script], where);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

const raw = async (path: string, fields: Fields) => lasting((await match(server, fields, { path })).body);

const needs = isInstalled('python3') ? describe : describe.skip;

needs('answers as the server does', () => {
  test('match, of paths and of bytes', async () => {
    const answer = await raw(paths.match, { image1: one, image2: three });
    expect(lasting(await value('client.match("one.jpg", open("two.jpg", "rb").read())'))).toEqual(answer);
  });

  test('match with fields of the advanced endpoint', async () => {
    const fields = 'accuracy_mode="fast", image1_face_index=0, auto_pair_best=False, min_det_score=1e-7';
    const chosen = { accuracy_mode: 'fast', image1_face_index: '0', auto_pair_best: 'false' };
    const text = { ...chosen, min_det_score: '0.0000001' };
    expect(lasting(await value(`client.match("one.jpg", "two.jpg", ${fields})`))).toEqual(
      await raw(paths.advanced, { image1: one, image2: three, ...text }),
    );
  });

  test('match with a threshold alone, by the scope match:basic', async () => {
    const key = keys.basic;
    expect(await value('client.match("one.jpg", "two.jpg", threshold_percent=99.9)', { key })).toMatchObject({
      threshold_percent: 99.9,
    });
    const refused = await value('client.match("one.jpg", "two.jpg", min_det_score=0.4)', { key });
    expect(refused).toMatchObject({ code: 'forbidden_scope', status: 403 });
  });

  test('many, with names of files whatever is in them', async () => {
    const files = `["three.jpg", ${JSON.stringify(odd)}, b"no picture"]`;
    const answer = await value(`client.many("one.jpg", ${files})`);
    const { results, ...rest } = await raw(paths.many, {
      image1: one,
      image2: [two, three, Buffer.from('no picture')],
    });
    const names = answer.results.map(({ filename }: Json) => filename);
    expect(lasting(answer)).toEqual({
      ...rest,
      results: results.map((result: Json, index: number) => ({ ...result, filename: names[index] })),
    });
    expect(names).toEqual(['three.jpg', odd, 'image2']);
  });

  test('the same when pictures go as JSON', async () => {
    const options = ', as_json=True';
    const fields = 'accuracy_mode="fast", image1_face_index=0, auto_pair_best=False, min_det_score=None';
    const text = { accuracy_mode: 'fast', image1_face_index: '0', auto_pair_best: 'false' };
    const matched = await value(
      `client.match("one.jpg", open("two.jpg", "rb").read(), ${fields})`,
      {},
      options,
    );
    expect(lasting(matched)).toEqual(await raw(paths.advanced, { image1: one, image2: three, ...text }));
    const many = await value('client.many("one.jpg", ("two.jpg", b"no picture"))', {}, options);
    expect(many.results.map((result: Json) => result.match ?? result.problem.code)).toEqual([
      ...[true, 'unsupported_image_format'],
    ]);
    expect(await value('client.many("one.jpg", ["three.jpg"])', {}, options)).toMatchObject({
      results: [{ match: false }],
    });
  });

  test('detect and embed, and what embed gives to match_embeddings', async () => {
    expect(lasting(await value('client.detect("one.jpg")'))).toEqual(
      await raw('/API/v1.0/face/detect/upload', { image: one }),
    );
    const embedded = await value('client.embed("one.jpg", face_index=-1)');
    expect(lasting(embedded)).toEqual(await raw(paths.embed, { image: one }));
    const { pack, version, accuracy_mode } = embedded.embedding;
    const [{ embedding }, ...others] = embedded.image.faces;
    const candidates = others.map((other: Json) => ({ id: 'é', embedding: other.embedding }));
    const question = { embedding, candidates, pack, version, accuracy_mode };
    writeFileSync(join(folder, 'question.json'), JSON.stringify(question));
    const { body } = await send(server, {
      path: paths.embeddings,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(question),
    });
    const asked = await value('client.match_embeddings(json.load(open("question.json", encoding="utf-8")))');
    expect(body.results).toHaveLength(candidates.length);
    expect(lasting(asked)).toEqual(lasting(body));
  });

  test('models', async () => {
    expect(await value('client.models()')).toEqual(
      (await send(server, { path: paths.models, method: 'GET' })).body,
    );
  });
});

needs('what goes wrong', () => {
  test('a problem is an error with its code and its members', async () => {
    expect(await value('client.match("one.jpg", "nobody.png")')).toMatchObject({
      code: 'no_face_found',
      status: 422,
      retry_after: null,
      problem: { errors: [{ field: 'image2' }] },
      message: expect.stringMatching(/^422 no_face_found: .*\(request_id \w{26}\)$/),
    });
  });

  test('429 is waited for as Retry-After says: one refusal, then the answer', async () => {
    const refused = 'facematch_requests_total{route="match",status="429",code="rate_limit_exceeded"}';
    const before = await server.metric(refused);
    // Python spends the token itself, so that its start does not give it back.
    const both = '[client.models(), client.match("one.jpg", "two.jpg")][1]';
    expect(await value(both, { key: keys.poor })).toMatchObject({ match: true });
    expect(await server.metric(refused)).toBe(before + 1);
  });

  test('429 is an error at once when Retry-After asks for more than the longest wait', async () => {
    await empty(server, keys.poorest);
    const error = await value('client.match("one.jpg", "two.jpg")', { key: keys.poorest });
    expect(error).toMatchObject({ code: 'rate_limit_exceeded', status: 429 });
    expect(error.retry_after).toBeGreaterThan(60);
  });

  test('a connection that is reset is tried again, and not for ever', async () => {
    const once = await proxy(server.port, (socket, count) => count === 1 && reset(socket));
    expect(await value('client.match("one.jpg", "two.jpg")', { url: once.url })).toMatchObject({
      match: true,
    });
    once.close();
    const always = await proxy(server.port, reset);
    const error = await value('client.models()', { url: always.url }, ', retries=1');
    always.close();
    expect(error).toMatchObject({ code: 'network', status: null, problem: null });
    expect([once.connections, always.connections]).toEqual([2, 2]);
  });

  test('a server that stands still is given up, once', async () => {
    gate.close();
    const through = await proxy(server.port, () => false);
    const error = await value('client.match("one.jpg", "two.jpg")', { url: through.url }, ', timeout=0.5');
    gate.open();
    through.close();
    expect(error).toMatchObject({ code: 'timeout', status: null });
    expect(through.connections).toBe(1);
  });

  test.each([
    ['502 Bad Gateway', 502, 1],
    ['307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/', 307, 1],
    ['503 Service Unavailable\r\nretry-after: 0', 503, 2],
    ['200 OK', 200, 1],
  ])('%j of a gateway is not taken for an answer', async (head, status, times) => {
    const text = `HTTP/1.1 ${head}\r\ncontent-length: 4\r\nconnection: close\r\n\r\nOops`;
    const gateway = await proxy(server.port, (socket) => {
      socket.once('data', () => socket.end(text));
      return true;
    });
    const error = await value('client.models()', { url: gateway.url }, ', retries=1');
    gateway.close();
    expect(error).toMatchObject({ code: 'unexpected', status, message: `${status}: Oops` });
    expect(gateway.connections).toBe(times);
  });

  test.each(['5', 'None', 'open("one.jpg", "rb")'])('%s for a picture is a TypeError', async (given) => {
    const call = `facematch.FacematchClient("http://x", "k").match(${given}, "two.jpg")`;
    const { stderr } = await python(['-c', `import facematch; ${call}`]);
    expect(stderr).toMatch(/TypeError: image1 is \w+: give bytes, or the path of a file\n$/);
  });

  test('an address that is none is a ValueError', async () => {
    const { code, stderr } = await python(['facematch.py', 'one.jpg', 'two.jpg'], { url: 'file:///etc' });
    expect([code, stderr]).toEqual([2, 'error: not an http address: file:///etc\n']);
  });
});

needs('as its readers run it', () => {
  test.each([
    [['one.jpg', 'two.jpg'], 0, /^match: [\d.]+ % \(the threshold is 70 %\)\n$/, /^$/],
    [['one.jpg', 'three.jpg'], 1, /^no match: [\d.]+ %/, /^$/],
    [['one.jpg', 'nobody.png'], 2, /^$/, /^error: 422 no_face_found: .*\n$/],
    [['one.jpg'], 2, /^$/, /^error: usage: .*\n$/],
  ])('facematch.py %j exits with %i', async (files, exit, out, err) => {
    const { code, stdout, stderr } = await python(['facematch.py', ...files]);
    expect(code).toBe(exit);
    expect(stdout).toMatch(out);
    expect(stderr).toMatch(err);
  });

  test('the example of docs/clients/README.md', async () => {
    const page = readFileSync(projectPath('docs/clients/README.md'), 'utf8');
    const [, program] = /```python\n(.*?)```/s.exec(page)!;
    const { stdout, stderr } = await python(['-c', program!]);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^True [\d.]+\ntwo\.jpg True\nthree\.jpg False\n$/);
  });
});
