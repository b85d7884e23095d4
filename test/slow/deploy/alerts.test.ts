import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { projectPath } from '../../../src/config/paths.ts';
import { metricName, metricTable } from '../../../src/telemetry/metric-table.ts';
import { TestServer } from '../../server/support/server.ts';
import { newFolder } from '../../support/folder.ts';

/** Tests the rules of deploy/prometheus: each alert has a runbook, and a test of when it fires. */

const deployed = (file: string) => readFileSync(projectPath(`deploy/${file}`), 'utf8');

interface Rule {
  alert?: string;
  expr: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

const { groups } = parse(deployed('prometheus/alerts.yml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.filter(({ alert }) => alert !== undefined);

const dashboard = JSON.parse(deployed('grafana/facematch.json')) as {
  panels: { targets?: { expr: string }[] }[];
  annotations: { list: { expr: string }[] };
};

/** The queries as Prometheus gets them, with Grafana's variables replaced. */
const queries = [
  ...dashboard.panels.flatMap(({ targets = [] }) => targets),
  ...dashboard.annotations.list,
].map(({ expr }) => expr.replaceAll('$__rate_interval', '5m'));

/** The system's promtool, or the one that setup unpacked; undefined if neither runs. */
const promtool = ['promtool', projectPath('.cache/promtool/usr/bin/promtool')].find(
  (program) => spawnSync(program, ['--version']).status === 0,
);

if (promtool === undefined) {
  process.stderr.write(
    'Skipped tests that need promtool, which is not installed (Debian package prometheus)\n',
  );
}

const ruleTests = ['alerts.test.yml', 'alerts-daily.test.yml'];
const names = alerts.map(({ alert }) => alert!);

test.each(alerts)('has a severity, a summary and a runbook link for $alert', (rule) => {
  expect(['warning', 'critical']).toContain(rule.labels?.severity);
  expect(rule.annotations?.summary).toBeTruthy();
  expect(rule.annotations!.runbook).toBe(`docs/monitoring.md#${rule.alert!.toLowerCase()}`);
});

test('has a runbook and a unit test for every alert', () => {
  const headings = readFileSync(projectPath('docs/monitoring.md'), 'utf8').matchAll(/^### (Facematch\w+)$/gm);
  expect([...headings].map(([, heading]) => heading)).toEqual(names);
  const cases = ruleTests.flatMap((file) => [
    ...deployed(`prometheus/${file}`).matchAll(/^ {2}- name: (\w+)$/gm),
  ]);
  expect(cases.map(([, name]) => name!).sort()).toEqual([...names].sort());
});

test('uses only existing metrics in rules and dashboard', () => {
  const there = new Set(Object.keys(metricTable).map(metricName));
  const all = [...rules.map(({ expr }) => expr), ...queries];
  const asked = all.flatMap((expr) => expr.match(/(?<![:\w])facematch_\w+/g) ?? []);
  expect(asked.length).toBeGreaterThan(50);
  const isThere = (name: string) => there.has(name) || there.has(name.replace(/_(?:bucket|sum|count)$/, ''));
  expect(asked.filter((name) => !isThere(name))).toEqual([]);
});

describe.skipIf(promtool === undefined)('promtool', () => {
  const folder = newFolder();
  const runTool = (input: string, ...args: string[]) => {
    const options = { cwd: projectPath('deploy/prometheus'), encoding: 'utf8', input } as const;
    const { status, stdout, stderr } = spawnSync(promtool!, args, options);
    return { status, output: `${stdout}${stderr}` };
  };
  const run = (...args: string[]) => runTool('', ...args);

  test('accepts the rules and the configuration', () => {
    expect(run('check', 'rules', '--lint-fatal', 'alerts.yml')).toMatchObject({ status: 0 });
    expect(run('check', 'config', 'prometheus.yml')).toMatchObject({ status: 0 });
  });

  test('confirms that every alert fires when it should, and only then', () => {
    const { status, output } = run('test', 'rules', ...ruleTests);
    expect([status, output.match(/SUCCESS/g)?.length]).toEqual([0, ruleTests.length]);
  });

  test('accepts every expression of the dashboard', () => {
    const asRules = queries.map((expr, at) => ({ record: `query:${at}`, expr }));
    const file = join(folder, 'dashboard.yml');
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: asRules }] }));
    const { status, output } = run('check', 'rules', file);
    expect([status, output]).toEqual([0, expect.stringContaining(`${asRules.length} rules found`)]);
  });

  test("accepts a server's metrics, except nodejs_*", async () => {
    const server = await TestServer.forTest();
    expect(runTool(await server.metrics(), 'check', 'metrics').output).toMatch(/^(nodejs_.*\n|\n)*$/);
  });
});
