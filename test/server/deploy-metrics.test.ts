import { beforeAll, describe, expect, test } from 'vitest';
import { errorTable } from '../../src/errors.ts';
import { metricName, metricTable } from '../../src/telemetry/metric-table.ts';
import { alerts, dashboard, dashboardQueries, rules } from '../support/deployed.ts';
import { namesIn, type Selector } from '../support/promql.ts';
import { match, twoPhotos } from './support/client.ts';
import { TestServer } from './support/server.ts';

/** Dashboard and rules name no metric, label or value that a running server does not have. */

/** Served only where a setting asks for it: Redis, TLS. */
const onDemand = ['facematch_limiter_up', 'facematch_tls_certificate_not_after_seconds'];
/** Prometheus gives these to every series that it scrapes. */
const ofTarget = ['job', 'instance'];
/** Prometheus's own. */
const ofPrometheus = ['up'];
/** What a recorded series is by; the first part of its name says it. */
const levels: Readonly<Record<string, readonly string[]>> = {
  job: ['job'],
  instance: ['job', 'instance'],
  job_mode: ['job', 'accuracy_mode'],
};

const recorded = new Set(rules.map(({ record }) => record));
const queries = [
  ...rules.map(({ record, alert, expr }) => ({ from: record ?? alert!, expr })),
  ...dashboardQueries,
];

/** Metric → label → values that were seen. */
const served = new Map<string, Map<string, Set<string>>>();
beforeAll(async () => {
  const server = await TestServer.start();
  // An answer and a refusal.
  await match(server, twoPhotos());
  await match(server, { image1: 'x', image2: 'y' });
  const text = await server.metrics();
  await server.stop();
  for (const [, name, type] of text.matchAll(/^# TYPE (\S+) (\w+)$/gm)) {
    for (const end of type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''])
      served.set(name! + end, new Map());
  }
  for (const [, name, labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    for (const [, label, value] of labels.matchAll(/(\w+)="([^"]*)"/g)) {
      const seen = served.get(name!)!;
      seen.set(label!, (seen.get(label!) ?? new Set()).add(value!));
    }
  }
});

/** Values that a label can have where a request has to bring them. */
const brought: Readonly<Record<string, readonly string[]>> = {
  code: ['ok', 'client_left', ...Object.keys(errorTable)],
  status: ['200', '499', ...Object.values(errorTable).map(({ status }) => String(status))],
};

function labelsOf(metric: string): readonly string[] {
  const level = recorded.has(metric) ? levels[metric.split(':')[0]!] : undefined;
  return level ?? [...ofTarget, ...(served.get(metric)?.keys() ?? [])];
}

function faultsOf({ metric, matchers }: Selector): string[] {
  const isKnown =
    served.has(metric) || recorded.has(metric) || [...onDemand, ...ofPrometheus].includes(metric);
  if (!isKnown) return [`no metric ${metric}`];
  return matchers.flatMap(({ label, operator, value }) => {
    if (!labelsOf(metric).includes(label)) return [`no label ${label} of ${metric}`];
    if (value.includes('$') || ofTarget.includes(label)) return [];
    const values = [...(served.get(metric)?.get(label) ?? []), ...(brought[label] ?? [])];
    const wanted = operator.includes('~') ? value.split('|') : [value];
    return wanted
      .filter((one) => !values.some((known) => new RegExp(`^(?:${one})$`).test(known)))
      .map((one) => `no ${label}="${one}" of ${metric}`);
  });
}

test('there are queries to look at', () => {
  expect(dashboardQueries.length).toBeGreaterThan(30);
  expect(alerts.length).toBeGreaterThan(12);
});

test.each(queries)('$from names nothing that is not there: $expr', ({ expr }) => {
  const { selectors, groupings } = namesIn(expr);
  expect(selectors.length).toBeGreaterThan(0);
  expect(selectors.flatMap(faultsOf)).toEqual([]);
  const labels = new Set(selectors.flatMap(({ metric }) => labelsOf(metric)));
  expect(groupings.filter((label) => !labels.has(label))).toEqual([]);
});

test('the variables of the dashboard ask for a metric that every server has', () => {
  const asked = dashboard.templating.list.flatMap(({ definition = [] }) => definition);
  expect(asked.length).toBe(2);
  for (const query of asked) expect(query).toContain('facematch_build_info');
  expect(served.has('facematch_build_info')).toBe(true);
});

test('what is served on demand is in the metric table, and asked for', () => {
  expect(Object.keys(metricTable).map(metricName)).toEqual(expect.arrayContaining([...onDemand]));
  const used = queries.flatMap(({ expr }) => namesIn(expr).selectors.map(({ metric }) => metric));
  expect(onDemand.filter((metric) => !used.includes(metric))).toEqual([]);
});

describe('the reader of PromQL', () => {
  test.each<[string, string[]]>([
    ['up == 0', ['up']],
    ['sum by (job, le) (rate(a_total{b="c", d=~"e|f"}[5m])) / 2', ['a_total', 'b', 'd', 'job', 'le']],
    ['a / on (job) group_left (x) b offset 1h and c > 1e3', ['a', 'b', 'c', 'job', 'x']],
    [
      'abs(job:a:mean1h - avg_over_time(b[1d] offset 1h)) > 10 unless absent(c{d!="}"})',
      ['job:a:mean1h', 'b', 'c', 'd'],
    ],
    ['histogram_quantile(0.9, sum by (le) (rate(a_bucket[5m])))', ['a_bucket', 'le']],
    ['sum(a) without (x)', ['a', 'x']],
    ['time() - b', ['b']],
  ])('sees in %s: %j', (expression, expected) => {
    const { selectors, groupings } = namesIn(expression);
    const seen = selectors.flatMap(({ metric, matchers }) => [metric, ...matchers.map(({ label }) => label)]);
    expect([...seen, ...groupings].sort()).toEqual([...expected].sort());
  });

  test('refuses what it cannot read', () => {
    expect(() => namesIn('a # comment')).toThrow('# comment');
  });

  test.each<[string, RegExp]>([
    ['facematch_no_such_total', /no metric/],
    ['facematch_requests_total{colour="red"}', /no label colour/],
    ['facematch_refusals_total{code="no_such_code"}', /no code="no_such_code"/],
    ['facematch_stage_duration_seconds_bucket{stage=~"queue|lunch"}', /no stage="lunch"/],
    ['facematch_stage_duration_seconds', /no metric/],
    ['job:facematch_queue_wait_seconds:p95_rate5m{instance="x"}', /no label instance/],
  ])('and its judge find fault with %s', (expression, fault) => {
    const [first] = namesIn(expression).selectors.flatMap(faultsOf);
    expect(first).toMatch(fault);
  });
});
