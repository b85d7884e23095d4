import { afterEach, describe, expect, test } from 'vitest';
import { type Answer, head, match, paths, photoForm, RawClient, send, twoPhotos } from './support/client.ts';
import { Home, killable, readiness, TestServer, WorkerGate } from './support/server.ts';

/** What happens while workers are busy. The gate holds them at the addon's door as long as a test needs. */

const home = new Home();
const gate = new WorkerGate(home);
/** Its only token is gone with its first request. */
const poorKey = home.key({ rate: 0.001, burst: 1 });
const thriftyKey = home.key({ rate: 0.001, burst: 6 });
const otherKey = home.key();
const maxBody = 3_000_000;
const server = await TestServer.forFile(
  {
    env: {
      ...gate.env,
      FACEMATCH_WORKERS: '2',
      FACEMATCH_QUEUE: '2',
      FACEMATCH_DEADLINE_MS: '8000',
      FACEMATCH_MAX_BODY_BYTES: String(maxBody),
    },
    node: killable,
  },
  home,
);
afterEach(async () => {
  gate.open();
  await server.metricBecomes('facematch_workers_busy', 0);
  await server.metricBecomes('facematch_requests_unanswered', 0);
});

const busy = (workers: number) => server.metricBecomes('facematch_workers_busy', workers);
const waiting = (requests: number) => server.metricBecomes('facematch_queue_depth', requests);
const ask = () => match(server, twoPhotos());
const codes = (answers: readonly Answer[]) => answers.map(({ status, body }) => body.code ?? status);

/** Sends a whole request on a connection that can be dropped. */
function askRaw(): RawClient {
  const body = photoForm();
  const client = new RawClient(server.port);
  client.write(Buffer.concat([Buffer.from(head(server, { 'content-length': String(body.length) })), body]));
  return client;
}

describe('a full queue', () => {
  test('refuses the next request before its body, and serves those that wait', async () => {
    gate.close();
    const running = [ask(), ask()];
    await busy(2);
    const queued = [ask(), ask()];
    await waiting(2);
    const client = new RawClient(server.port);
    client.write(head(server, { 'content-length': '100000' }));
    const refused = await client.answer();
    expect(refused.body).toMatchObject({ status: 503, code: 'overloaded' });
    expect(refused.headers['retry-after']).toBe('1');
    client.leave();
    gate.open();
    expect(codes(await Promise.all([...running, ...queued]))).toEqual([200, 200, 200, 200]);
  });

  test('is told after the rate limit, and before the declared length', async () => {
    await send(server, { path: paths.models, method: 'GET', key: poorKey });
    gate.close();
    const running = [ask(), ask()];
    await busy(2);
    const queued = [ask(), ask()];
    await waiting(2);
    for (const [key, code] of [
      [poorKey, 'rate_limit_exceeded'],
      [server.key, 'overloaded'],
    ] as const) {
      const client = new RawClient(server.port);
      client.write(head(server, { 'x-api-key': key, 'content-length': String(maxBody + 1) }));
      expect((await client.answer()).body.code).toBe(code);
      client.leave();
    }
    gate.open();
    expect(codes(await Promise.all([...running, ...queued]))).toEqual([200, 200, 200, 200]);
    // With room in the queue the length is looked at.
    const client = new RawClient(server.port);
    client.write(head(server, { 'content-length': String(maxBody + 1) }));
    expect((await client.answer()).body.code).toBe('body_too_large');
    client.leave();
  });

  test('is told to a request whose body arrives when the queue has filled up meanwhile', async () => {
    gate.close();
    const body = photoForm();
    const late = new RawClient(server.port);
    late.write(head(server, { 'content-length': String(body.length) }));
    await server.metricBecomes('facematch_requests_unanswered', 1);
    const others = [ask(), ask()];
    await busy(2);
    others.push(ask(), ask());
    await waiting(2);
    late.write(body);
    expect((await late.answer()).body).toMatchObject({ status: 503, code: 'overloaded' });
    gate.open();
    expect(codes(await Promise.all(others))).toEqual([200, 200, 200, 200]);
  });

  test('costs no tokens, so that who tries again is not refused for its rate', async () => {
    gate.close();
    const thrifty = () => match(server, twoPhotos(), { key: thriftyKey });
    const others = [thrifty(), thrifty()];
    await busy(2);
    others.push(thrifty(), thrifty());
    await waiting(2);
    for (let tried = 0; tried < 5; tried++) {
      const { body, headers } = await thrifty();
      expect([body.code, headers.get('ratelimit')]).toEqual(['overloaded', expect.stringMatching('r=2;')]);
    }
    gate.open();
    expect(codes(await Promise.all(others))).toEqual([200, 200, 200, 200]);
  });

  test('makes room for another key, and the youngest request of the first is told', async () => {
    gate.close();
    const running = [ask(), ask()];
    await busy(2);
    const queued = [ask()];
    await waiting(1);
    queued.push(ask());
    await waiting(2);
    const other = match(server, twoPhotos(), { key: otherKey });
    expect((await queued[1]!).body).toMatchObject({ status: 503, code: 'overloaded' });
    // The key that holds most has its share.
    expect((await ask()).body.code).toBe('overloaded');
    gate.open();
    expect(codes(await Promise.all([...running, queued[0]!, other]))).toEqual([200, 200, 200, 200]);
  });

  test('is not made full by requests that are still being uploaded', async () => {
    const uploads = Array.from({ length: 10 }, () => {
      const client = new RawClient(server.port);
      client.write(head(server, { 'content-length': '100000' }));
      return client;
    });
    await server.metricBecomes('facematch_requests_unanswered', 10);
    expect((await ask()).status).toBe(200);
    for (const upload of uploads) upload.leave();
  });
});

describe('the deadline', () => {
  test('answers what runs and what waits, and the late outcome is thrown away', async () => {
    gate.close();
    const running = [ask(), ask()];
    await busy(2);
    const queued = ask();
    expect(codes(await Promise.all([...running, queued]))).toEqual(Array(3).fill('deadline_exceeded'));
    // The workers are still held: nothing may be handed to them.
    expect(await server.metric('facematch_workers_busy')).toBe(2);
    expect(await server.metric('facematch_queue_depth')).toBe(0);
    const told = JSON.parse(await server.line(server.stderr, /not done at the deadline/));
    expect(told).toMatchObject({
      level: 'warn',
      request_id: expect.any(String),
      pictures: [
        { bytes: expect.any(Number), format: 'jpeg', sha256: expect.stringMatching(/^[0-9a-f]{16}$/) },
      ],
    });
    // What was cancelled does not end: both workers hang, and the probes say so.
    await server.metricBecomes('facematch_workers_wedged', 2);
    const probe = async (path: string) => {
      const answer = await fetch(server.adminAddress + path);
      return [answer.status, await answer.json()];
    };
    expect(await probe('/readyz')).toEqual([503, readiness('wedged', 2)]);
    expect(await probe('/healthz')).toEqual([503, { status: 'wedged' }]);
    gate.open();
    await busy(0);
    expect((await ask()).status).toBe(200);
    expect(await probe('/readyz')).toEqual([200, readiness('ready')]);
  });
});

describe('a client that leaves', () => {
  test('while it waits has its pictures dropped', async () => {
    gate.close();
    const running = [ask(), ask()];
    await busy(2);
    const client = askRaw();
    await waiting(1);
    client.leave();
    await waiting(0);
    gate.open();
    expect(codes(await Promise.all(running))).toEqual([200, 200]);
  });

  test('while its pictures run is noticed, and the workers come back', async () => {
    gate.close();
    const client = askRaw();
    await busy(2);
    client.leave();
    await server.metricBecomes('facematch_requests_unanswered', 0);
    expect(await server.metric('facematch_workers_busy')).toBe(2);
    gate.open();
    await busy(0);
    expect((await ask()).status).toBe(200);
  });

  test('with a FIN and not a reset is noticed as well', async () => {
    gate.close();
    const client = askRaw();
    await busy(2);
    client.socket.end();
    await server.metricBecomes('facematch_requests_unanswered', 0);
    gate.open();
  });

  test('while its answer is on the way does no harm', async () => {
    for (let round = 0; round < 20; round++) {
      const client = askRaw();
      client.socket.once('data', () => client.leave());
      await client.closed;
    }
    expect((await ask()).status).toBe(200);
  });
});

describe('a worker that dies', () => {
  test('costs its own request a 500 with nothing internal in it, and no other', async () => {
    gate.close();
    const running = [ask(), ask()];
    await busy(2);
    const queued = ask();
    await waiting(1);
    server.child.kill('SIGUSR2');
    const dead = await Promise.race(running);
    expect(dead.body).toMatchObject({ status: 500, code: 'internal_error', request_id: expect.any(String) });
    expect(JSON.stringify(dead.body)).not.toMatch(/worker|exit|terminat/i);
    expect(dead.headers.get('content-type')).toBe('application/problem+json');
    gate.open();
    const answers = await Promise.all([...running, queued]);
    expect(codes(answers).sort()).toEqual([200, 200, 'internal_error']);
    const told = server.stderr.map((line) => JSON.parse(line));
    const ofDead = told.filter(({ request_id }) => request_id === dead.body.request_id);
    const fault = expect.stringMatching(/exited/);
    expect(ofDead).toEqual([
      expect.objectContaining({
        level: 'error',
        fault,
        pictures: [expect.objectContaining({ format: 'jpeg' })],
      }),
      expect.objectContaining({ status: 500, fault }),
    ]);
  });
});
