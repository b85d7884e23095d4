import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { blank } from '../fixtures/images.ts';
import {
  type Fields,
  formBytes,
  type Json,
  paths,
  RawClient,
  type TestResponse,
} from '../server/support/client.ts';
import { redisInstalled, TestRedis } from '../server/support/redis.ts';
import { Home, TestServer } from '../server/support/server.ts';
import { newFolder } from '../support/folder.ts';
import { surfaces } from '../support/surface.mjs';
import { posesOf, sitter, turnedFrames } from '../support/turned-head.mjs';

/** Tests the live check: a challenge, and frames of a head that moves as requested. */

const scopes = ['match:live'] as const;
const home = new Home();
const keys = {
  one: home.key({ scopes }),
  two: home.key({ scopes }),
  basic: home.key({ scopes: ['match:basic'] }),
  limited: home.key({ scopes, rate: 0.01, burst: 18 }),
};
const audit = join(newFolder(), 'audit.log');
const FACEMATCH_ENDPOINTS = 'challenge,match_live,models';
const env = {
  FACEMATCH_ENDPOINTS,
  FACEMATCH_AUDIT_LOG: audit,
  FACEMATCH_EMBEDDING_CACHE_SIZE: '200',
  // Sixteen frames take a long time on a busy machine.
  FACEMATCH_DEADLINE_MS: '60000',
};
const server = await TestServer.forFile({ env }, home);

const reference: Buffer = await sitter()!.png().toBuffer();
/** Cache of the frames of each sequence. */
const made = new Map<string, Promise<Buffer[]>>();
function framesOf(steps: readonly string[]): Promise<Buffer[]> {
  const frames = made.get(steps.join()) ?? turnedFrames(posesOf(steps));
  made.set(steps.join(), frames);
  return frames;
}

const getChallenge = (key = keys.one, from = server) => from.send({ path: paths.challenge, key });
const response = (fields: Fields, key = keys.one, to = server): Promise<TestResponse> =>
  to.match(fields, { path: paths.live, key });

/** Requests challenges until one has these steps, which are random. */
async function challengeFor(...wanted: string[]): Promise<string> {
  for (;;) {
    const { body } = await getChallenge();
    if (body.steps.join() === wanted.join()) return body.challenge;
  }
}

test('issues a challenge with steps of both axes, an expiry, and the number of frames', async () => {
  const { status, headers, body } = await getChallenge();
  expect(status).toBe(201);
  expect(body).toEqual({
    request_id: headers.get('x-request-id'),
    challenge: expect.stringMatching(/^[\w-]{1,512}$/),
    steps: [expect.any(String), expect.any(String)],
    expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/),
    frames: { min: 6, max: 16 },
  });
  expect(headers.get('ratelimit')).toMatch(/^"default";r=/);
  const other = await server.send({ path: paths.challenge, key: keys.basic });
  expect([other.status, other.body.required_scope]).toEqual([403, 'match:live']);
});

describe('a head that moves as requested', () => {
  test('is verified once, as a form and as JSON', async () => {
    const { challenge, steps } = (await getChallenge()).body;
    const frame = await framesOf(steps);
    const { status, body } = await response({ challenge, frame, image2: reference });
    expect(status).toBe(200);
    expect(body).toMatchObject({ live: true, live_reasons: [], match: true, verified: true });
    expect(body.steps.map(({ step, passed }: Json) => [step, passed])).toEqual(
      steps.map((step: string) => [step, true]),
    );
    expect(body.frames).toHaveLength(frame.length);
    expect(body.frames[0]).toMatchObject({ index: 0, looks_straight: true, face_index: 0, format: 'jpeg' });
    expect(Math.abs(body.frames[0].yaw)).toBeLessThan(10);
    const frontal = body.frames.filter(({ looks_straight }: Json) => looks_straight).length;
    expect(body.photos_compared).toEqual({ frames: frontal, image2: 1 });

    const again = await response({ challenge, frame, image2: reference });
    expect([again.status, again.body.code, again.body.reason]).toEqual([400, 'invalid_challenge', 'used']);
    const base64 = (image: Buffer) => image.toString('base64');
    const json = {
      challenge: await challengeFor(...steps),
      frame: frame.map(base64),
      image2: [base64(reference)],
    };
    const sent = await server.postJson(paths.live, json, keys.one);
    expect(sent.body.confidence_percent).toBe(body.confidence_percent);
    expect(sent.body).toMatchObject({ verified: true, steps: body.steps });
  });

  test('passes in fast mode with the same angles', async () => {
    const steps = ['left', 'up'];
    const frame = await framesOf(steps);
    const ask = async (accuracy_mode: string) => {
      const challenge = await challengeFor(...steps);
      return (await response({ challenge, frame, image2: reference, accuracy_mode })).body;
    };
    const [fast, balance] = [await ask('fast'), await ask('balance')];
    expect(fast.live).toBe(true);
    expect(fast.steps).toEqual(balance.steps);
  });

  test('is not live for another challenge, with the reasons, and is counted and audited', async () => {
    const before = await server.metric(
      'facematch_liveness_checks_total{result="not_live",reason="step_missing"}',
    );
    const frame = await framesOf(['left', 'up']);
    const challenge = await challengeFor('right', 'up');
    const { body } = await response({ challenge, frame, image2: reference });
    expect(body).toMatchObject({ match: true, live: false, verified: false });
    expect(body.live_reasons).toEqual(['step_missing', 'wrong_direction']);
    await server.metricBecomes(
      'facematch_liveness_checks_total{result="not_live",reason="step_missing"}',
      before + 1,
    );
    const lines = () => readFileSync(audit, 'utf8').trim().split('\n');
    const line = () => lines().find((text) => text.includes(body.request_id));
    while (line() === undefined) await new Promise((resolve) => setImmediate(resolve));
    expect(JSON.parse(line()!)).toMatchObject({
      route: 'match_live',
      ...{
        steps: ['right', 'up'],
        live: false,
        verified: false,
        live_reasons: body.live_reasons,
        match: true,
      },
    });
  });
});

test('reports a flat print that is turned as not live', async () => {
  const challenge = await challengeFor('left', 'up');
  const frame = await turnedFrames(posesOf(['left', 'up']), { surface: surfaces.flat() });
  const { body } = await response({ challenge, frame, image2: reference });
  expect(body).toMatchObject({ match: true, live: false, verified: false });
  expect(body.live_reasons).toContain('step_missing');
});

describe('a challenge', () => {
  const reasonFor = async (challenge: string, key = keys.one, to = server) => {
    const frame = await framesOf(['left', 'up']);
    const { status, body } = await response({ challenge, frame, image2: reference }, key, to);
    return [status, body.code, body.reason];
  };

  test('is rejected if it is forged, too long, or sent with another key', async () => {
    const { challenge } = (await getChallenge()).body;
    const forged = challenge.replace(/^./, (letter: string) => (letter === 'A' ? 'B' : 'A'));
    for (const text of [forged, 'x', 'A'.repeat(513), challenge + challenge])
      expect(await reasonFor(text)).toEqual([400, 'invalid_challenge', 'malformed']);
    expect(await reasonFor(challenge, keys.two)).toEqual([400, 'invalid_challenge', 'other_key']);
    // The rejection did not use up the challenge.
    expect(await reasonFor(challenge)).toEqual([200, undefined, undefined]);
  });

  test('is rejected after it has expired', async () => {
    const own = new Home();
    const key = own.key({ scopes });
    const file = join(newFolder(), 'clock.mjs');
    // Each call of the server's clock advances it by 5 s.
    writeFileSync(file, 'const now = Date.now; let calls = 0; Date.now = () => now() + 5000 * calls++;\n');
    const later = await TestServer.forTest({ env: { FACEMATCH_ENDPOINTS }, node: ['--import', file] }, own);
    const { body } = await getChallenge(key, later);
    for (let i = 0; i < 20; i++) await getChallenge(key, later);
    expect(await reasonFor(body.challenge, key, later)).toEqual([400, 'invalid_challenge', 'expired']);
  });
});

describe('a match/live request', () => {
  test.each<[string, (frames: Buffer[]) => Fields, object]>([
    ['without a challenge', (frame) => ({ frame }), { code: 'missing_field', field: 'challenge' }],
    [
      'with an empty challenge',
      (frame) => ({ challenge: '', frame }),
      { code: 'missing_field', field: 'challenge' },
    ],
    [
      'with two challenges',
      (frame) => ({ challenge: ['a', 'b'], frame }),
      { code: 'duplicate_field', field: 'challenge' },
    ],
    ['without frames', () => ({ challenge: 'x' }), { code: 'missing_field', field: 'frame' }],
    [
      'with five frames',
      (frames) => ({ challenge: 'x', frame: frames.slice(0, 5) }),
      { code: 'invalid_field', field: 'frame', expected: '6 to 16 images' },
    ],
    [
      'with seventeen frames',
      (frames) => ({ challenge: 'x', frame: Array(17).fill(frames[0]) }),
      { code: 'too_many_images', limit: 16 },
    ],
  ])('is rejected %s', async (_what, fieldsOf, body) => {
    const fields = fieldsOf(await framesOf(['left', 'up']));
    expect(await response({ ...fields, image2: reference })).toMatchObject({ status: 400, body });
  });

  test('is rejected as JSON if the challenge is not a string, or the frames are not a list', async () => {
    const frame = reference.toString('base64');
    const wrong: [object, string][] = [
      [{ challenge: 7, frame: [frame], image2: [frame] }, 'challenge'],
      [{ challenge: 'x', frame, image2: [frame] }, 'frame'],
    ];
    for (const [json, field] of wrong) {
      const { status, body } = await server.postJson(paths.live, json, keys.one);
      expect([status, body.code, body.field]).toEqual([400, 'invalid_field', field]);
    }
  });

  test('is rejected with the index of a frame without a face', async () => {
    const frames = await framesOf(['left', 'up']);
    const challenge = await challengeFor('left', 'up');
    const frame = frames.with(3, await blank(480, 360, 'jpeg'));
    const { status, body } = await response({ challenge, frame, image2: reference });
    expect([status, body.errors]).toEqual([422, [{ field: 'frame', code: 'no_face_found', index: 3 }]]);
  });

  test('costs a token for each image beyond the second, and leaves the challenge unused if tokens are missing', async () => {
    const { challenge, steps } = (await getChallenge(keys.limited)).body;
    const frame = await framesOf(steps);
    expect(frame).toHaveLength(16);
    // The rejected request uses only its first token, which is not returned.
    const dear = await response({ challenge, frame, image2: Array(3).fill(reference) }, keys.limited);
    expect(dear.status).toBe(429);
    const { status, headers, body } = await response({ challenge, frame, image2: reference }, keys.limited);
    expect([status, body.live]).toEqual([200, true]);
    expect(headers.get('ratelimit')).toContain('r=0');
  });

  test('does not disturb the server if it is aborted', async () => {
    const challenge = await challengeFor('left', 'up');
    const frame = await framesOf(['left', 'up']);
    const bytes = formBytes({ challenge, frame, image2: reference });
    const line = `POST ${paths.live} HTTP/1.1`;
    for (const share of [0.1, 0.5, 0.99, 1]) {
      const client = new RawClient(server.port);
      client.write(
        server.requestHeaders({ 'x-api-key': keys.one, 'content-length': String(bytes.length) }, line),
      );
      client.write(bytes.subarray(0, Math.round(share * bytes.length)));
      client.leave();
      await client.closed;
    }
    await server.metricBecomes('facematch_workers_busy', 0);
    const next = await challengeFor('left', 'up');
    expect((await response({ challenge: next, frame, image2: reference })).body.live).toBe(true);
  });
});

describe('a challenge with several replicas', () => {
  test.skipIf(!redisInstalled)('is accepted once, by any replica', async () => {
    const redis = await TestRedis.start();
    onTestFinished(() => redis.kill());
    const shared = new Home();
    const key = shared.key({ scopes });
    const secrets = join(shared.folder, 'secrets.txt');
    writeFileSync(secrets, `${'s'.repeat(40)}\n`, { mode: 0o600 });
    const env = {
      FACEMATCH_ENDPOINTS,
      FACEMATCH_LIMITER: redis.url,
      FACEMATCH_CHALLENGE_SECRET_FILE: secrets,
      FACEMATCH_DEADLINE_MS: '60000',
    };
    const [one, two] = [await TestServer.forTest({ env }, shared), await TestServer.forTest({ env }, shared)];
    await one.metricBecomes('facematch_limiter_up', 1);
    await two.metricBecomes('facematch_limiter_up', 1);
    const { challenge, steps } = (await getChallenge(key, one)).body;
    const fields = { challenge, frame: await framesOf(steps), image2: reference };
    expect((await response(fields, key, two)).body.live).toBe(true);
    expect((await response(fields, key, one)).body).toMatchObject({
      code: 'invalid_challenge',
      reason: 'used',
    });
    const next = (await getChallenge(key, one)).body;
    await redis.kill();
    await one.metricBecomes('facematch_limiter_up', 0);
    const lost = await response({ ...fields, challenge: next.challenge }, key, one);
    expect([lost.status, lost.body.code]).toEqual([503, 'not_ready']);
  });
});
