import { existsSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { metricName, metricTable } from '../../src/telemetry/metric-table.ts';
import { blank, samples } from '../fixtures/images.ts';
import { newFolder } from '../support/folder.ts';
import { type Fields, type Json, paths, twoPhotos } from './support/client.ts';
import { Home, idOf, TestServer } from './support/server.ts';

/** Tests the effect of requests on the metrics and the audit log (FACEMATCH_AUDIT_LOG). */

const home = new Home();
const limited = home.key({ rate: 0.01, burst: 1 });
const file = join(newFolder(), 'audit.jsonl');
const env = {
  FACEMATCH_AUDIT_LOG: file,
  FACEMATCH_ENDPOINTS: 'match,match_advanced,match_many,match_person,match_embeddings,detect,embed,models',
};
const server = await TestServer.forFile({ env, gate: 'open' }, home);
const { gate } = server;
const fresh = await server.metrics();
const faceless = await blank(320, 320, 'png');

/**
 * Returns the increase of each series of these metrics, by name and labels. Omits unchanged series.
 */
async function rises(act: () => Promise<unknown>, ...metrics: string[]): Promise<Record<string, number>> {
  const before = seriesOf(await server.metrics());
  await act();
  const risen = [...seriesOf(await server.metrics())].flatMap(([name, value]) => {
    const rise = value - (before.get(name) ?? 0);
    return metrics.includes(name.split('{')[0]!) && rise !== 0 ? [[name, rise] as const] : [];
  });
  return Object.fromEntries(risen);
}

function seriesOf(text: string): Map<string, number> {
  const series = text.matchAll(/^facematch_(\w+(?:\{.*\})?) (\S+)$/gm);
  return new Map([...series].map(([, name, value]) => [name!, Number(value)]));
}

const advanced = (fields: Fields) => server.match(fields, { path: paths.advanced });

test('exposes every metric of the table with its help and type in a new server', () => {
  for (const [name, { type, help }] of Object.entries(metricTable)) {
    expect(fresh).toContain(`# HELP ${metricName(name)} ${help}\n# TYPE ${metricName(name)} ${type}\n`);
  }
  const own = [...fresh.matchAll(/^# TYPE facematch_(\w+) /gm)].map(([, name]) => name);
  expect(own.sort()).toEqual(Object.keys(metricTable).sort());
});

test('exposes series with known labels before the first request, at 0', () => {
  for (const name of [
    'facematch_rejections_total{reason="fault",code="internal_error"}',
    'facematch_rejections_total{reason="load",code="overloaded"}',
    'facematch_comparisons_total{accuracy_mode="fast",result="match"}',
    'facematch_confidence_percent_bucket{le="40",accuracy_mode="balance"}',
    'facematch_images_total{found_by="none"}',
    'facematch_stage_duration_seconds_count{stage="queue"}',
    'facematch_request_duration_seconds_count{route="match"}',
    'facematch_worker_replacements_total',
  ])
    expect(fresh).toContain(`\n${name} 0\n`);
});

describe('the metrics of a match', () => {
  test('count verdicts by mode', async () => {
    const lenient = () => advanced({ ...twoPhotos(), threshold_percent: '0' });
    expect(await rises(lenient, 'comparisons_total')).toEqual({
      'comparisons_total{accuracy_mode="balance",result="match"}': 1,
    });
    const strict = () =>
      advanced({ image1: samples.one, image2: samples.two, threshold_percent: '100', accuracy_mode: 'fast' });
    expect(await rises(strict, 'comparisons_total')).toEqual({
      'comparisons_total{accuracy_mode="fast",result="no_match"}': 1,
    });
  });

  test('count both images by the pass that found their faces, and by the number of faces', async () => {
    const ask = () => server.match(twoPhotos());
    expect(await rises(ask, 'images_total', 'faces_per_image_sum', 'faces_per_image_bucket')).toEqual({
      'images_total{found_by="primary"}': 2,
      faces_per_image_sum: 6,
      ...Object.fromEntries(
        [3, 5, 10, 20, '+Inf'].map((faces) => [`faces_per_image_bucket{le="${faces}"}`, 2]),
      ),
    });
  });
});

describe('the metrics of a rejection', () => {
  const both = () => server.match({ image1: faceless, image2: faceless });

  test('count only the images without a face', async () => {
    const one = () => server.match({ image1: samples.one, image2: faceless });
    expect(await rises(one, 'images_total')).toEqual({ 'images_total{found_by="none"}': 1 });
    const counted = ['images_total', 'faces_per_image_count', 'faces_per_image_sum', 'comparisons_total'];
    const without = { 'images_total{found_by="none"}': 2, faces_per_image_count: 2 };
    expect(await rises(both, ...counted)).toEqual(without);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['reason="key",code="missing_api_key"', () => server.match(twoPhotos(), { key: null })],
    ['reason="request",code="missing_field"', () => server.match({ image1: samples.one })],
    ['reason="image",code="no_face_found"', both],
    ['reason="request",code="not_found"', () => server.send({ path: '/nowhere' })],
    ['reason="image",code="unsupported_image_format"', () => server.match({ image1: 'x', image2: 'y' })],
  ])('count the rejection with the labels %s', async (labels, ask) => {
    expect(await rises(ask, 'rejections_total')).toEqual({ [`rejections_total{${labels}}`]: 1 });
  });
});

test('increases busy seconds of workers only while a job runs', async () => {
  const busySeconds = () => server.metric('facematch_worker_busy_seconds_total');
  gate.close();
  const running = server.match(twoPhotos());
  await server.metricBecomes('facematch_workers_busy', 1);
  const first = await busySeconds();
  expect(await busySeconds()).toBeGreaterThan(first);
  gate.open();
  await running;
  await server.metricBecomes('facematch_workers_busy', 0);
  const last = await busySeconds();
  expect(last).toBeGreaterThan(first);
  expect(await busySeconds()).toBe(last);
});

const lines = (path = file): Json[] =>
  (readFileSync(path, 'utf8').match(/.+/g) ?? []).map((line) => JSON.parse(line));

/** Waits for the lines of a request in the audit log, which are written after its response, and returns them. */
async function decisionsOf(request_id: string): Promise<Json[]> {
  const found = () => lines().filter((line) => line.request_id === request_id);
  await expect.poll(found).not.toEqual([]);
  return found();
}

describe('the audit log', () => {
  test('has one line per match, in a file that only its owner can read', async () => {
    const { body } = await server.match({ ...twoPhotos(), threshold_percent: '80' });
    expect(await decisionsOf(body.request_id)).toEqual([
      {
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        request_id: body.request_id,
        key_id: idOf(server.key),
        route: 'match',
        pack: body.model.pack,
        pack_version: body.model.version,
        accuracy_mode: 'balance',
        threshold_percent: 80,
        confidence_percent: body.confidence_percent,
        match: true,
      },
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('has a line per image2 of match/many, including rejected ones; metrics count comparisons', async () => {
    const fields = { image1: samples.one, image2: [samples.three, faceless], accuracy_mode: 'fast' };
    let body: Json;
    const ask = async () => ({ body } = await server.match(fields, { path: paths.many }));
    expect(await rises(ask, 'requests_total', 'comparisons_total', 'images_total')).toEqual({
      'requests_total{route="match_many",status="200",code="ok"}': 1,
      'comparisons_total{accuracy_mode="fast",result="match"}': 1,
      'images_total{found_by="primary"}': 2,
      'images_total{found_by="none"}': 1,
    });
    const found = await decisionsOf(body.request_id);
    expect(found).toMatchObject([
      { route: 'match_many', accuracy_mode: 'fast', image2_index: 0, match: true },
      { route: 'match_many', image2_index: 1, code: 'no_face_found' },
    ]);
    expect(JSON.stringify(found)).not.toContain('image2.bin');
  });

  test('records several photos of two people as one decision, and counts each photo', async () => {
    const sides = { image1: Array(2).fill(samples.one), image2: Array(3).fill(samples.one) };
    let body: Json;
    const ask = async () => ({ body } = await server.match(sides, { path: paths.person }));
    const counted = ['comparisons_total', 'images_total', 'key_images_total', 'key_comparisons_total'];
    expect(await rises(ask, ...counted)).toEqual({
      'comparisons_total{accuracy_mode="balance",result="match"}': 1,
      'images_total{found_by="primary"}': 5,
      'key_images_total{key="test"}': 5,
      'key_comparisons_total{key="test"}': 1,
    });
    const [{ time, request_id, key_id, pack, pack_version, ...line }] = await decisionsOf(body.request_id);
    const { accuracy_mode, threshold_percent, confidence_percent } = body;
    const decision = { accuracy_mode, threshold_percent, confidence_percent, match: true };
    expect(line).toEqual({ route: 'match_person', ...decision });
    const facelessSecond = { image1: samples.one, image2: [samples.one, faceless] };
    const rejected = await server.match(facelessSecond, { path: paths.person });
    expect(await decisionsOf(rejected.body.request_id)).toMatchObject([{ code: 'no_face_found' }]);
  });

  test('has one line per match/embeddings request, without ids and embeddings', async () => {
    const embeddingsBody = await server.embeddingsRequest(samples.one);
    let body: Json;
    const ask = async () => ({ body } = await server.postJson(paths.embeddings, embeddingsBody));
    expect(await rises(ask, 'key_images_total', 'key_comparisons_total')).toEqual({
      'key_comparisons_total{key="test"}': 3,
    });
    expect(await decisionsOf(body.request_id)).toMatchObject([
      { route: 'match_embeddings', candidates: 3, matches: 1, confidence_percent: 100, match: true },
    ]);
    const text = readFileSync(file, 'utf8');
    expect(text).not.toContain('face 0');
    expect(text).not.toContain(embeddingsBody.embedding.slice(0, 12));
    const embedded = lines().filter(({ route }) => route === 'embed');
    expect(embedded).toMatchObject([{ accuracy_mode: 'balance', embeddings_returned: 3 }]);
  });

  test('records rejected images and requests with the reason, but not rejections of a key or its rate', async () => {
    const image = await server.match({ image1: samples.one, image2: faceless });
    const request = await server.match({ image1: samples.one });
    await server.match(twoPhotos(), { key: limited });
    const rate = await server.match(twoPhotos(), { key: limited });
    const key = await server.match(twoPhotos(), { key: 'wrong' });
    expect([rate.status, key.status]).toEqual([429, 401]);
    expect(await decisionsOf(image.body.request_id)).toMatchObject([
      { route: 'match', code: 'no_face_found' },
    ]);
    expect(await decisionsOf(request.body.request_id)).toMatchObject([
      { route: 'match', code: 'missing_field' },
    ]);
    const ids = [rate.body.request_id, key.body.request_id];
    expect(lines().filter(({ request_id }) => ids.includes(request_id))).toEqual([]);
  });

  test('continues in a new file on SIGHUP, and writes pending lines at shutdown', async () => {
    const before = await server.match(twoPhotos());
    await decisionsOf(before.body.request_id);
    const moved = `${file}.1`;
    renameSync(file, moved);
    server.child.kill('SIGHUP');
    await expect.poll(() => existsSync(file)).toBe(true);
    const after = await server.match(twoPhotos());
    await server.stop();
    expect(lines(moved).at(-1).request_id).toBe(before.body.request_id);
    expect(lines().map(({ request_id }) => request_id)).toEqual([after.body.request_id]);
  });
});

test('reports the number of pending lines of the audit log, and the lost ones in the last log line', async () => {
  const full = await TestServer.forTest({ env: { FACEMATCH_AUDIT_LOG: '/dev/full' } });
  for (let sent = 0; sent < 3; sent++) expect((await full.match(twoPhotos())).status).toBe(200);
  await full.metricBecomes('facematch_audit_lines_waiting', 3);
  expect(await full.metric('facematch_audit_lines_dropped_total')).toBe(0);
  await full.stop();
  const [lost, stopped] = full.stderr.slice(-2).map((line) => JSON.parse(line));
  expect(lost).toMatchObject({ level: 'error', lost: 3, msg: expect.stringContaining('lost') });
  expect(stopped).toMatchObject({ level: 'error', audit_lines_lost: 3, msg: 'stopped' });
});
