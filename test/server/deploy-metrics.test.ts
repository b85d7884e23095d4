import { beforeAll, expect, test } from 'vitest';
import { dashboardQueries, rules } from '../support/deployed.ts';
import { match, twoPhotos } from './support/client.ts';
import { TestServer } from './support/server.ts';

/** Dashboard and rules name no metric and no label that a running server does not have. */

/** Prometheus gives these to every series that it scrapes. */
const ofTarget = ['job', 'instance'];
const recorded = new Set(rules.map(({ record }) => record));

/** Metric → its labels. */
const served = new Map<string, Set<string>>();
beforeAll(async () => {
  const server = await TestServer.start();
  // An answer and a refusal.
  await match(server, twoPhotos());
  await match(server, { image1: 'x', image2: 'y' });
  const text = await server.metrics();
  await server.stop();
  for (const [, name, type] of text.matchAll(/^# TYPE (\S+) (\w+)$/gm)) {
    for (const end of type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''])
      served.set(name! + end, new Set(ofTarget));
  }
  for (const [, name, labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    for (const [, label] of labels.matchAll(/(\w+)="/g)) served.get(name!)!.add(label!);
  }
});

const queries = [
  ...rules.map(({ record, alert, expr }) => ({ from: record ?? alert!, expr })),
  ...dashboardQueries,
];

test.each(queries)('$from names nothing that is not there: $expr', ({ expr }) => {
  const own = /\b(?:facematch|process|nodejs)_\w+|\b(?:job|instance|job_mode):[\w:]+/g;
  const metrics = expr.match(own) ?? [];
  // Prometheus's own.
  if (!/\bup\b/.test(expr)) expect(metrics.length).toBeGreaterThan(0);
  expect(metrics.filter((metric) => !served.has(metric) && !recorded.has(metric))).toEqual([]);
  for (const [, metric, selector] of expr.matchAll(/\b(facematch_\w+)\{([^}]*)\}/g)) {
    const labels = [...selector!.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label]) => label!);
    expect(labels.filter((label) => !served.get(metric!)?.has(label))).toEqual([]);
  }
});
