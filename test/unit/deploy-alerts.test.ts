import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';
import { alerts, dashboardQueries, deployed, manifestsOf, ruleFile, rules } from '../support/deployed.ts';
import { anchorsOf, pageText, readPage } from '../support/markdown.ts';
import { promtool } from '../support/promtool.ts';

/** The rules of deploy/prometheus: each alert with its runbook, proven to fire and to stay silent. */

const names = alerts.map(({ alert }) => alert!);
const { prose } = readPage(pageText('docs/runbooks.md'));

test('there are alerts, each of one name', () => {
  expect(names.length).toBeGreaterThan(12);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^Facematch[A-Z]\w+$/);
});

test.each(alerts)('$alert has a severity, a summary and a paragraph in the runbooks', (rule) => {
  expect(['warning', 'critical']).toContain(rule.labels?.severity);
  expect(rule.annotations?.summary).toBeTruthy();
  const [page, anchor] = rule.annotations!.runbook!.split('#');
  expect(page).toBe('docs/runbooks.md');
  expect(anchor).toBe(rule.alert!.toLowerCase());
  expect(anchorsOf(prose)).toContain(anchor);
});

test('every paragraph of the runbooks is of an alert, in the same order, and says what, how to see and what to do', () => {
  const [, ...sections] = prose.split(/^## /m);
  expect(sections.map((section) => section.split('\n')[0])).toEqual(names);
  for (const section of sections) {
    for (const word of ['**Means**', '**Look**', '**Do**']) expect(section).toContain(word);
  }
});

test('the rule of the Prometheus operator holds the same groups', () => {
  const [rule] = manifestsOf('kubernetes/monitoring/prometheus-rule.yaml');
  expect(rule.spec.groups).toEqual(ruleFile.groups);
});

test('every recorded series is used', () => {
  const used = [...rules, ...dashboardQueries].map(({ expr }) => expr).join('\n');
  expect(rules.flatMap(({ record = [] }) => record).filter((record) => !used.includes(record))).toEqual([]);
});

test('every alert has a case in the unit tests', () => {
  const cases = [...deployed('prometheus/alerts.test.yml').matchAll(/^ {2}- name: (\w+)$/gm)];
  expect(cases.map(([, name]) => name)).toEqual(names);
});

describe.skipIf(promtool === undefined)('promtool', () => {
  const folder = mkdtempSync(join(tmpdir(), 'facematch-rules-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(promtool!, args, {
      cwd: projectPath('deploy/prometheus'),
      encoding: 'utf8',
    });
    return { status, output: `${stdout}${stderr}` };
  };

  test('takes the rules and the configuration', () => {
    expect(run('check', 'rules', '--lint-fatal', 'alerts.yml')).toMatchObject({ status: 0 });
    expect(run('check', 'config', 'prometheus.yml')).toMatchObject({ status: 0 });
  });

  test('makes every alert fire where it should, and only there', () => {
    expect(run('test', 'rules', 'alerts.test.yml')).toMatchObject({
      status: 0,
      output: expect.stringContaining('SUCCESS'),
    });
  });

  test('finds out an alert that does not fire, so its word counts', () => {
    const deaf = deployed('prometheus/alerts.yml').replace('facematch_ready == 0', 'facematch_ready == 2');
    writeFileSync(join(folder, 'alerts.yml'), deaf);
    writeFileSync(join(folder, 'test.yml'), deployed('prometheus/alerts.test.yml'));
    expect(run('test', 'rules', join(folder, 'test.yml'))).toMatchObject({
      status: 1,
      output: expect.stringContaining('FacematchNotReady'),
    });
  });

  test('reads every expression of the dashboard', () => {
    const asRules = dashboardQueries.map(({ expr }, at) => ({ record: `query:${at}`, expr }));
    const file = join(folder, 'dashboard.yml');
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: asRules }] }));
    expect(run('check', 'rules', file)).toMatchObject({
      status: 0,
      output: expect.stringContaining(`${asRules.length} rules found`),
    });
  });
});
