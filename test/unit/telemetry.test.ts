import { execFileSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { errorTable } from '../../src/errors.ts';
import { Lines } from '../../src/telemetry/lines.ts';
import { read } from '../../src/telemetry/metric-table.ts';
import { Metrics, type Readings } from '../../src/telemetry/metrics.ts';
import { newFolder } from '../support/folder.ts';

/** The metric table, and what is read when a scrape comes; test/server/metrics.test.ts has the rest. */

const names = { version: '1.2.3', node: '20', http: 'uws', uws: '20' };
const info = { ...names, pack: 'default', pack_version: '1.0.0', provider: 'cpu' };
const readings = (own: Partial<Readings> = {}) =>
  ({ ...Object.fromEntries(Object.keys(read).map((name) => [name, () => 1])), ...own }) as Readings;
const metricsOf = (own?: Partial<Readings>) => {
  const metrics = new Metrics(info);
  metrics.read(readings(own));
  return metrics;
};
const seriesOf = async (metrics: Metrics) =>
  (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('facematch_'));

describe('a reading', () => {
  test('of a counter is told as it is, and not added up from scrape to scrape', async () => {
    const metrics = metricsOf({ worker_replacements_total: () => 2 });
    await seriesOf(metrics);
    expect(await seriesOf(metrics)).toContain('facematch_worker_replacements_total 2');
  });

  test('is asked for at every scrape, leaves no series behind while it is not known, and comes back', async () => {
    let limit: number | undefined;
    const metrics = metricsOf({ memory_limit_bytes: () => limit });
    for (limit of [7, undefined, 9]) {
      const series = (await seriesOf(metrics)).filter((line) => line.includes('memory_limit'));
      expect(series).toEqual(limit === undefined ? [] : [`facematch_memory_limit_bytes ${limit}`]);
    }
  });
});

const record = {
  ...{ request_id: 'x', key_id: undefined, route: 'match', bytes: 0, duration_ms: 1, timings_ms: {} },
  ...{ trace_id: undefined, client: undefined, key_name: undefined, pictures: 0 },
  ...{ fault: undefined, field: undefined, reason: undefined, counts: [], decisions: [] },
};

test('a code that is none of the table is no refusal, and makes no series of its own', async () => {
  const metrics = metricsOf();
  metrics.observe({ ...record, status: 499, code: 'client_left' });
  metrics.observe({ ...record, status: 503, code: 'overloaded' });
  const refusals = (await seriesOf(metrics)).filter((line) => line.startsWith('facematch_refusals_total'));
  expect(refusals).toHaveLength(Object.keys(errorTable).length);
  expect(refusals.filter((line) => !line.endsWith(' 0'))).toEqual([
    'facematch_refusals_total{reason="load",code="overloaded"} 1',
  ]);
});

test('every verdict of a key is counted: on two images, on each candidate, and none where it was refused', async () => {
  const metrics = metricsOf();
  const matched = { accuracy_mode: 'fast', match: true, confidence_percent: 90 };
  const decisions = [matched, { refused: 'no_face_found' }, { candidates: 40, match: false }];
  metrics.observe({ ...record, status: 200, code: undefined, key_name: 'shop', pictures: 3, decisions });
  metrics.observe({ ...record, status: 200, code: undefined });
  expect((await seriesOf(metrics)).filter((line) => line.startsWith('facematch_key_'))).toEqual([
    'facematch_key_requests_total{key="shop"} 1',
    'facematch_key_pictures_total{key="shop"} 3',
    'facematch_key_comparisons_total{key="shop"} 41',
  ]);
});
/** Into a pipe whose reader stands still until the test reads from it. */
test.each([0, 10])(
  'lines gathered for %d ms take a bounded memory, and the dropped are told',
  async (gather_ms) => {
    const pipe = join(newFolder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const held = await open(pipe, 'r+');
    let onTold = (_: number) => {};
    const told = new Promise<number>((resolve) => {
      onTold = resolve;
    });
    const lines = new Lines({ dest: pipe, gather_ms, onDropped: (count) => onTold(count) });
    const line = `${'x'.repeat(1023)}\n`;
    const sent = 10_000;
    for (let written = 0; written < sent; written++) lines.write(line);
    expect(await lines.flush()).toBe(false);
    // 8 MiB, of lines of 1 KiB.
    expect(lines.dropped).toBe(sent - 8192);
    let read = 0;
    const reader = createReadStream(pipe);
    reader.on('data', (bytes) => {
      read += bytes.length;
    });
    expect(await told).toBe(sent - 8192);
    await expect.poll(() => read).toBe(8192 * line.length);
    expect(await lines.flush()).toBe(true);
    lines.end();
    reader.destroy();
    await held.close();
  },
);
