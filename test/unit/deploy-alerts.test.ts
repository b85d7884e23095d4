import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';
import { alerts, dashboardQueries, deployed, manifestsOf, ruleFile } from '../support/deployed.ts';
import { promtool } from '../support/promtool.ts';

/** The rules of deploy/prometheus: each alert with its runbook, proven to fire and to stay silent. */

const names = alerts.map(({ alert }) => alert!);

test.each(alerts)('$alert has a severity, a summary and a link to its paragraph in the runbooks', (rule) => {
  expect(['warning', 'critical']).toContain(rule.labels?.severity);
  expect(rule.annotations?.summary).toBeTruthy();
  expect(rule.annotations!.runbook).toBe(`docs/runbooks.md#${rule.alert!.toLowerCase()}`);
});

test('every alert has a paragraph in the runbooks and a case in its unit tests', () => {
  const headings = readFileSync(projectPath('docs/runbooks.md'), 'utf8').matchAll(/^## (\w+)$/gm);
  expect([...headings].map(([, heading]) => heading)).toEqual(names);
  const cases = deployed('prometheus/alerts.test.yml').matchAll(/^ {2}- name: (\w+)$/gm);
  expect([...cases].map(([, name]) => name)).toEqual(names);
});

test('the rule of the Prometheus operator holds the same groups', () => {
  const [rule] = manifestsOf('kubernetes/monitoring/prometheus-rule.yaml');
  expect(rule.spec.groups).toEqual(ruleFile.groups);
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
    const { status, output } = run('test', 'rules', 'alerts.test.yml');
    expect([status, output]).toEqual([0, expect.stringContaining('SUCCESS')]);
  });

  test('reads every expression of the dashboard', () => {
    const asRules = dashboardQueries.map(({ expr }, at) => ({ record: `query:${at}`, expr }));
    const file = join(folder, 'dashboard.yml');
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: asRules }] }));
    const { status, output } = run('check', 'rules', file);
    expect([status, output]).toEqual([0, expect.stringContaining(`${asRules.length} rules found`)]);
  });
});
