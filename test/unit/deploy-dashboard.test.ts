import { expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';
import { alerts, dashboard, deployed } from '../support/deployed.ts';

/** deploy/grafana/facematch.json: what a panel must have, and that it is what the table says. */

const panels = dashboard.panels.filter(({ type }) => type !== 'row');

test('the dashboard is up to date; if not, run: node scripts/generate-docs.mjs', async () => {
  const made = await import(projectPath('scripts/lib/dashboard/index.mjs'));
  expect(dashboard).toEqual(JSON.parse(JSON.stringify(made.dashboard())));
});

test('there is a row for each question', () => {
  const rows = dashboard.panels.filter(({ type }) => type === 'row').map(({ title }) => title);
  expect(rows).toEqual([
    'Now',
    'Traffic',
    'Latency',
    'Saturation',
    'Process',
    'Refusals',
    'Faces and scores',
  ]);
});

test.each(panels)('$title has a description, a unit, and queries with legends', (panel) => {
  expect(panel.description!.length).toBeGreaterThan(10);
  expect(panel.fieldConfig!.defaults.unit).toBeTruthy();
  expect(panel.targets!.length).toBeGreaterThan(0);
  for (const { expr, legendFormat, datasource } of panel.targets!) {
    expect(expr).toContain('$job');
    expect(legendFormat).toBeTruthy();
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's own
    expect(datasource).toEqual({ type: 'prometheus', uid: '${datasource}' });
  }
});

test('panels have ids of their own, lie within the grid and do not overlap', () => {
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  const taken = new Set<string>();
  for (const { gridPos, title } of dashboard.panels) {
    const { x, y, w, h } = gridPos;
    expect(x + w).toBeLessThanOrEqual(24);
    for (let column = x; column < x + w; column++) {
      for (let line = y; line < y + h; line++) {
        expect([title, taken.has(`${column} ${line}`)]).toEqual([title, false]);
        taken.add(`${column} ${line}`);
      }
    }
  }
});

test('every variable that is used is defined, and every one that is defined is used', () => {
  const defined = dashboard.templating.list.map(({ name }) => name);
  const used = [...deployed('grafana/facematch.json').matchAll(/\$\{?([a-z]\w*)/g)].map(([, name]) => name);
  expect([...new Set(used)].sort()).toEqual(defined.sort());
});

test('alerts that panels name are there', () => {
  const named = panels.flatMap(({ description }) => description!.match(/Facematch\w+/g) ?? []);
  expect(named.length).toBeGreaterThan(8);
  const names = alerts.map(({ alert }) => alert);
  expect(named.filter((name) => !names.includes(name))).toEqual([]);
});
