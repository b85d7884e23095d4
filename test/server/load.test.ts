import { afterEach, describe, expect, test } from 'vitest';
import {
  type Answer,
  expectProblem,
  getModels,
  lengthHead,
  match,
  photoRequest,
  RawClient,
  sendRaw,
  twoPhotos,
} from './support/client.ts';
import { Home, killable, readiness, TestServer } from './support/server.ts';

/** What happens while workers are busy. The gate holds them at the addon's door as long as a test needs. */

const home = new Home();
/** Its only token is gone with its first request. */
const poorKey = home.key({ rate: 0.001, burst: 1 });
const thriftyKey = home.key({ rate: 0.001, burst: 6 });
const otherKey = home.key();
const maxBody = 3_000_000;
const env = {
  FACEMATCH_WORKERS: '2',
  FACEMATCH_QUEUE: '2',
  FACEMATCH_DEADLINE_MS: '8000',
  FACEMATCH_MAX_BODY_BYTES: String(maxBody),
};
const server = await TestServer.forFile({ env, gate: 'open', node: killable }, home);
const { gate } = server;
afterEach(async () => {
  gate.open();
  await server.metricBecomes('facematch_workers_busy', 0);
  await server.metricBecomes('facematch_requests_unanswered', 0);
});

const busy = (workers: number) => server.metricBecomes('facematch_workers_busy', workers);
const waiting = (requests: number) => server.metricBecomes('facematch_queue_depth', requests);
const ask = (key = server.key) => match(server, twoPhotos(), { key });
const codes = (answers: readonly Answer[]) => answers.map(({ status, body }) => body.code ?? status);

/** Sends a whole request on a connection that can be dropped. */
function askRaw(): RawClient {
  const client = new RawClient(server.port);
  client.write(photoRequest(server));
  return client;
}

/** Two requests run and two wait; `served` lets them go on and resolves to the codes of all. */
async function fill(key?: string) {
  gate.close();
  const asked = [ask(key), ask(key)];
  await busy(2);
  for (const depth of [1, 2]) {
    asked.push(ask(key));
    await waiting(depth);
  }
  const served = async () => {
    gate.open();
    return codes(await Promise.all(asked));
  };
  return { asked, served };
}
const allServed = [200, 200, 200, 200];

describe('a full queue', () => {
  test('is told after the rate limit, before the declared length and the body; those that wait are served', async () => {
    await getModels(server, { key: poorKey });
    const { served } = await fill();
    const codeFor = async (key: string) =>
      (await sendRaw(server, lengthHead(server, maxBody + 1, { 'x-api-key': key }))).body.code;
    expect(await codeFor(poorKey)).toBe('rate_limit_exceeded');
    expect(await codeFor(server.key)).toBe('overloaded');
    expect(await served()).toEqual(allServed);
    // With room in the queue the length is looked at.
    expect(await codeFor(server.key)).toBe('body_too_large');
  });

  test('is told to a request whose body arrives when the queue has filled up meanwhile', async () => {
    const late = new RawClient(server.port);
    const bytes = photoRequest(server);
    late.write(bytes.subarray(0, -1000));
    await server.metricBecomes('facematch_requests_unanswered', 1);
    const { served } = await fill();
    late.write(bytes.subarray(-1000));
    expect((await late.answer()).body).toMatchObject({ status: 503, code: 'overloaded' });
    expect(await served()).toEqual(allServed);
  });

  test('costs no tokens, so that who tries again is not refused for its rate', async () => {
    const { served } = await fill(thriftyKey);
    for (let tried = 0; tried < 5; tried++) {
      const { body, headers } = await ask(thriftyKey);
      expect([body.code, headers.get('ratelimit')]).toEqual(['overloaded', expect.stringMatching('r=2;')]);
    }
    expect(await served()).toEqual(allServed);
  });

  test('makes room for another key, and the youngest request of the first is told', async () => {
    const { asked, served } = await fill();
    const other = ask(otherKey);
    expect((await asked[3]!).body).toMatchObject({ status: 503, code: 'overloaded' });
    // The key that holds most has its share.
    expect((await ask()).body.code).toBe('overloaded');
    expect(await served()).toEqual([200, 200, 200, 'overloaded']);
    expect((await other).status).toBe(200);
  });

  test('is not made full by requests that are still being uploaded', async () => {
    const uploads = Array.from({ length: 10 }, () => new RawClient(server.port));
    for (const upload of uploads) upload.write(lengthHead(server, 100_000));
    await server.metricBecomes('facematch_requests_unanswered', 10);
    expect((await ask()).status).toBe(200);
    for (const upload of uploads) upload.leave();
  });
});

test('the deadline answers what runs and what waits, and the late outcome is thrown away', async () => {
  gate.close();
  const running = [ask(), ask()];
  await busy(2);
  const queued = ask();
  expect(codes(await Promise.all([...running, queued]))).toEqual(Array(3).fill('deadline_exceeded'));
  // The workers are still held: nothing may be handed to them.
  expect(await server.metric('facematch_workers_busy')).toBe(2);
  expect(await server.metric('facematch_queue_depth')).toBe(0);
  const told = JSON.parse(await server.line(server.stderr, /not done at the deadline/));
  const sha256 = expect.stringMatching(/^[0-9a-f]{16}$/);
  const images = [{ bytes: expect.any(Number), format: 'jpeg', sha256 }];
  expect(told).toMatchObject({ level: 'warn', request_id: expect.any(String), images });
  // What was cancelled does not end: both workers hang, and the probes say so.
  await server.metricBecomes('facematch_workers_wedged', 2);
  expect(await server.probe()).toEqual([503, readiness('wedged', 2)]);
  expect(await server.probe('/healthz')).toEqual([503, { status: 'wedged' }]);
  gate.open();
  await busy(0);
  expect((await ask()).status).toBe(200);
  expect(await server.probe()).toEqual([200, readiness('ready')]);
});

describe('a client that leaves', () => {
  test('while its images run is noticed, and the workers come back', async () => {
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

  test('while its answer is on the way does no harm', async () => {
    for (let round = 0; round < 20; round++) {
      const client = askRaw();
      client.socket.once('data', () => client.leave());
      await client.closed;
    }
    expect((await ask()).status).toBe(200);
  });
});

test('a worker that dies costs its own request a 500 with nothing internal in it, and no other', async () => {
  gate.close();
  const running = [ask(), ask()];
  await busy(2);
  const queued = ask();
  await waiting(1);
  server.child.kill('SIGUSR2');
  const dead = await Promise.race(running);
  expectProblem(dead, 'internal_error');
  expect(JSON.stringify(dead.body)).not.toMatch(/worker|exit|terminat/i);
  await server.metricBecomes('facematch_worker_replacements_total', 1);
  gate.open();
  const answers = await Promise.all([...running, queued]);
  expect(codes(answers).sort()).toEqual([200, 200, 'internal_error']);
  const told = server.stderr.map((line) => JSON.parse(line));
  const ofDead = told.filter(({ request_id }) => request_id === dead.body.request_id);
  const fault = expect.stringMatching(/exited/);
  const images = [expect.objectContaining({ format: 'jpeg' })];
  expect(ofDead).toEqual([
    expect.objectContaining({ level: 'error', fault, images }),
    expect.objectContaining({ status: 500, fault }),
  ]);
});
