import {
  constants,
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { errorTable } from '../../src/errors.ts';
import { LineWriter } from '../../src/telemetry/line-writer.ts';
import { gauges } from '../../src/telemetry/metric-table.ts';
import { type Gauges, Metrics } from '../../src/telemetry/metrics.ts';
import { namedPipe, newFolder } from '../support/folder.ts';

/** Tests the metric table, values read at a scrape, and LineWriter. test/server/telemetry.test.ts tests the rest. */

const names = { version: '1.2.3', node: '20', http: 'uws', uws: '20' };
const info = { ...names, pack: 'default', pack_version: '1.0.0', providers: 'cpu' };
const gaugesOf = (own: Partial<Gauges> = {}) =>
  ({ ...Object.fromEntries(Object.keys(gauges).map((name) => [name, () => 1])), ...own }) as Gauges;
const metricsOf = (own?: Partial<Gauges>) => {
  const metrics = new Metrics(info);
  metrics.addGauges(gaugesOf(own));
  return metrics;
};
const seriesOf = async (metrics: Metrics) =>
  (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('facematch_'));

describe('a value read at a scrape', () => {
  test('is exposed unchanged for a counter, not added up from scrape to scrape', async () => {
    const metrics = metricsOf({ worker_replacements_total: () => 2 });
    await seriesOf(metrics);
    expect(await seriesOf(metrics)).toContain('facematch_worker_replacements_total 2');
  });

  test('is read at every scrape, and has no series while it is unknown', async () => {
    let limit: number | undefined;
    const metrics = metricsOf({ memory_limit_bytes: () => limit });
    for (limit of [7, undefined, 9]) {
      const series = (await seriesOf(metrics)).filter((line) => line.includes('facematch_memory_limit'));
      expect(series).toEqual(limit === undefined ? [] : [`facematch_memory_limit_bytes ${limit}`]);
    }
  });
});

const record = {
  ...{ request_id: 'x', key_id: undefined, route: 'match', request_bytes: 0, duration_ms: 1, timings_ms: {} },
  ...{ trace_id: undefined, client: undefined, error: undefined, field: undefined, reason: undefined },
  tally: { key_name: undefined, images: 0, counts: [], decisions: [] },
};

test('adds no count and no series to rejections_total for a code outside the error table', async () => {
  const metrics = metricsOf();
  metrics.observe({ ...record, status: 499, code: 'client_left' });
  metrics.observe({ ...record, status: 503, code: 'overloaded' });
  const rejections = (await seriesOf(metrics)).filter((line) =>
    line.startsWith('facematch_rejections_total'),
  );
  expect(rejections).toHaveLength(Object.keys(errorTable).length);
  expect(rejections.filter((line) => !line.endsWith(' 0'))).toEqual([
    'facematch_rejections_total{reason="load",code="overloaded"} 1',
  ]);
});

/** A line of 1 KiB. */
const line = `${'x'.repeat(1023)}\n`;
/** Number of lines that a test writes. It exceeds the number that LineWriter keeps in memory. */
const sent = 10_000;

/**
 * Writes to a pipe that the test reads only after all lines are written. `blocks`: a write to the full pipe blocks
 * its thread, as with standard error.
 */
test.each([
  [0, 'a pipe', false],
  [10, 'a pipe', false],
  [10, 'a blocking pipe', true],
])(
  'limits the memory of waiting lines (gather_ms %d, %s), and reports the number of dropped lines',
  async (gather_ms, _what, blocks) => {
    const pipe = namedPipe();
    const held = await open(pipe, 'r+');
    let reported = 0;
    const onDropped = (count: number) => {
      reported += count;
    };
    const lines = new LineWriter({ dest: blocks ? held.fd : pipe, gather_ms, onDropped });
    for (let written = 0; written < sent; written++) lines.write(line);
    // On a busy machine, the check may run in the middle of a write.
    await expect.poll(() => lines.flush()).toBe(!blocks);
    // LineWriter keeps 8 MiB, that is, 8192 of these lines.
    expect(lines.dropped).toBe(sent - 8192);
    let read = 0;
    const reader = createReadStream(pipe);
    reader.on('data', (bytes) => {
      read += bytes.length;
    });
    await expect.poll(() => read).toBe(8192 * line.length);
    expect(reported).toBe(sent - 8192);
    await expect.poll(() => lines.flush()).toBe(true);
    lines.end();
    reader.destroy();
    await held.close();
  },
);

describe('lines that cannot be written', () => {
  test('are reported once, use limited memory, and do not delay the exit', async () => {
    const faults: string[] = [];
    const onError = ({ code }: NodeJS.ErrnoException) => faults.push(code!);
    const lines = new LineWriter({ dest: '/dev/full', onError, onDropped: () => {} });
    for (let written = 0; written < sent; written++) lines.write(line);
    expect(await lines.flush()).toBe(true);
    expect(await lines.flush()).toBe(true);
    expect(faults).toEqual(['ENOSPC']);
    expect([lines.dropped, lines.waiting]).toEqual([sent - 8192, 8192]);
    expect(lines.end()).toBe(8192);
    expect(lines.dropped).toBe(sent);
    // Each dropped line is counted once.
    expect([await lines.flush(), lines.end(), lines.dropped]).toEqual([true, 0, sent]);
  });

  test('are reported although the pipe was full before its reader left', async () => {
    const pipe = namedPipe();
    const reader = await open(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    const faults: string[] = [];
    const onError = ({ code }: NodeJS.ErrnoException) => faults.push(code!);
    const lines = new LineWriter({ dest: pipe, onError, onDropped: () => {} });
    for (let written = 0; written < 1000; written++) lines.write(line);
    // The reader does not read.
    await lines.flush();
    expect(faults).toEqual([]);
    await reader.close();
    await expect.poll(() => faults).toEqual(['EPIPE']);
    lines.end();
  });

  test('are kept, and written completely to the file that is opened next', async () => {
    const pipe = namedPipe();
    const held = await open(pipe, 'r+');
    const lines = new LineWriter({ dest: pipe, onDropped: () => {} });
    // The pipe accepts the first lines and a part of another.
    const many = Array.from({ length: 100 }, (_item, at) => `${String(at).padEnd(998, '.')}\n`);
    lines.write(many.join(''));
    await lines.flush();
    renameSync(pipe, `${pipe}.1`);
    lines.reopen();
    await expect.poll(() => existsSync(pipe) && readFileSync(pipe, 'utf8').endsWith(many.at(-1)!)).toBe(true);
    const { bytesRead, buffer } = await held.read(Buffer.alloc(100_000));
    const before = buffer.toString('latin1', 0, bytesRead).split('\n').slice(0, -1);
    const after = readFileSync(pipe, 'utf8').split('\n').slice(0, -1);
    expect([...before, ...after].map((text) => `${text}\n`)).toEqual(many);
    lines.end();
    await held.close();
  });
});

test('keeps the previous file in use if a path cannot be reopened, without leaking a descriptor', async () => {
  const folder = newFolder();
  const [dest, moved] = [join(folder, 'in', 'log'), join(folder, 'moved')];
  mkdirSync(dirname(dest));
  let faults = 0;
  const onError = () => {
    faults += 1;
  };
  const lines = new LineWriter({ dest, onError, onDropped: () => {} });
  const descriptors = () => readdirSync('/proc/self/fd').length;
  const before = descriptors();
  renameSync(dirname(dest), moved);
  for (let tried = 1; tried <= 5; tried++) {
    lines.reopen();
    await expect.poll(() => faults).toBe(tried);
  }
  lines.write('first\n');
  expect(await lines.flush()).toBe(true);
  expect(readFileSync(join(moved, 'log'), 'utf8')).toBe('first\n');
  mkdirSync(dirname(dest));
  // The second call arrives while the file is being opened, so the file is opened again. No descriptor may leak.
  lines.reopen();
  lines.reopen();
  await expect.poll(() => existsSync(dest)).toBe(true);
  await expect.poll(descriptors).toBe(before);
  lines.end();
});
