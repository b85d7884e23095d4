import { describe, expect, test } from 'vitest';
import { metricName, metricTable } from '../../src/telemetry/metric-table.ts';
import { blank, samples } from '../fixtures/images.ts';
import { match, paths, send, twoPhotos } from './support/client.ts';
import { killable, TestServer } from './support/server.ts';

/** What a scrape tells of the requests before it. */

const server = await TestServer.forFile({ gate: 'open', node: killable });
const { gate } = server;
const fresh = await server.metrics();
const nobody = await blank(320, 320, 'png');

/** By how much each series rose; those that did not are left out. */
async function rises(act: () => Promise<unknown>, metric: string): Promise<Record<string, number>> {
  const before = seriesOf(await server.metrics());
  await act();
  const risen = [...seriesOf(await server.metrics())].flatMap(([name, value]) => {
    const rise = value - (before.get(name) ?? 0);
    const labels = name.replace(/^\w+\{?|\}$/g, '');
    return name.split('{')[0] === `facematch_${metric}` && rise !== 0 ? [[labels, rise] as const] : [];
  });
  return Object.fromEntries(risen);
}

function seriesOf(text: string): Map<string, number> {
  return new Map(
    [...text.matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm)].map(([, name, value]) => [name!, Number(value)]),
  );
}

const advanced = (fields: Parameters<typeof match>[1]) => match(server, fields, { path: paths.advanced });

test('a new server has every metric of the table with its help and type', () => {
  for (const [name, { type, help }] of Object.entries(metricTable)) {
    expect(fresh).toContain(`# HELP ${metricName(name)} ${help}\n# TYPE ${metricName(name)} ${type}\n`);
  }
  const own = [...fresh.matchAll(/^# TYPE facematch_(\w+) /gm)].map(([, name]) => name);
  expect(own.sort()).toEqual(Object.keys(metricTable).sort());
});

test('series whose labels are known are there before the first request, at 0', () => {
  for (const name of [
    'facematch_refusals_total{reason="fault",code="internal_error"}',
    'facematch_refusals_total{reason="load",code="overloaded"}',
    'facematch_comparisons_total{accuracy_mode="fast",result="match"}',
    'facematch_confidence_percent_bucket{le="40",accuracy_mode="balance"}',
    'facematch_images_total{found_by="none"}',
    'facematch_stage_duration_seconds_count{stage="queue"}',
    'facematch_request_duration_seconds_count{route="match"}',
    'facematch_worker_replacements_total',
  ])
    expect(fresh).toContain(`\n${name} 0\n`);
});

describe('a match', () => {
  test('counts what it said, by mode', async () => {
    const lenient = () => advanced({ ...twoPhotos(), threshold_percent: '0' });
    expect(await rises(lenient, 'comparisons_total')).toEqual({
      'accuracy_mode="balance",result="match"': 1,
    });
    const strict = () =>
      advanced({ image1: samples.one, image2: samples.two, threshold_percent: '100', accuracy_mode: 'fast' });
    expect(await rises(strict, 'comparisons_total')).toEqual({ 'accuracy_mode="fast",result="no_match"': 1 });
  });

  test('counts both images by who found their faces, and how many there were', async () => {
    const ask = async () => {
      const { body } = await match(server, twoPhotos());
      expect([body.image1.faces.length, body.image2.faces.length]).toEqual([3, 3]);
    };
    expect(await rises(ask, 'images_total')).toEqual({ 'found_by="primary"': 2 });
    expect(await rises(ask, 'image_faces_sum')).toEqual({ '': 6 });
    const buckets = [3, 5, 10, 20, '+Inf'].map((faces) => [`le="${faces}"`, 2]);
    expect(await rises(ask, 'image_faces_bucket')).toEqual(Object.fromEntries(buckets));
  });
});

describe('a refusal', () => {
  const both = () => match(server, { image1: nobody, image2: nobody });
  test('for want of a face counts the images without one, and those alone', async () => {
    const one = () => match(server, { image1: samples.one, image2: nobody });
    expect(await rises(one, 'images_total')).toEqual({ 'found_by="none"': 1 });
    expect(await rises(both, 'images_total')).toEqual({ 'found_by="none"': 2 });
    expect(await rises(both, 'image_faces_count')).toEqual({ '': 2 });
    expect(await rises(both, 'image_faces_sum')).toEqual({});
    expect(await rises(both, 'comparisons_total')).toEqual({});
  });

  test.each<[string, () => Promise<unknown>]>([
    ['reason="key",code="missing_api_key"', () => match(server, twoPhotos(), { key: null })],
    ['reason="request",code="missing_field"', () => match(server, { image1: samples.one })],
    ['reason="image",code="no_face_found"', both],
    ['reason="request",code="not_found"', () => send(server, { path: '/nowhere' })],
    ['reason="image",code="unsupported_image_format"', () => match(server, { image1: 'x', image2: 'y' })],
  ])('counts as %s', async (labels, ask) => {
    expect(await rises(ask, 'refusals_total')).toEqual({ [labels]: 1 });
  });
});

describe('workers', () => {
  const busySeconds = () => server.metric('facematch_worker_busy_seconds_total');

  test('have busy seconds that rise while a job runs, and rest when none does', async () => {
    gate.close();
    const running = match(server, twoPhotos());
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

  test('that die are counted, with a job and without', async () => {
    gate.close();
    const running = match(server, twoPhotos());
    await server.metricBecomes('facematch_workers_busy', 1);
    server.child.kill('SIGUSR2');
    expect((await running).status).toBe(500);
    await server.metricBecomes('facematch_worker_replacements_total', 1);
    gate.open();
    expect((await match(server, twoPhotos())).status).toBe(200);
    server.child.kill('SIGUSR2');
    await server.metricBecomes('facematch_worker_replacements_total', 2);
  });
});
