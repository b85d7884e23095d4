import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parse, parseAllDocuments } from 'yaml';
import { projectPath } from '../../src/config/paths.ts';

/** The files of deploy/ as tests read them. */

export const deployed = (file: string) => readFileSync(projectPath(`deploy/${file}`), 'utf8');

interface Rule {
  record?: string;
  alert?: string;
  expr: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

const { groups } = parse(deployed('prometheus/alerts.yml')) as { groups: { rules: Rule[] }[] };
export const rules = groups.flatMap((group) => group.rules);
export const alerts = rules.filter(({ alert }) => alert !== undefined);

const dashboard = JSON.parse(deployed('grafana/facematch.json')) as {
  panels: { title: string; targets?: { expr: string }[] }[];
  annotations: { list: { expr: string }[] };
};

/** The queries as Prometheus gets them: Grafana has put its variables in. */
export const dashboardQueries = [
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ from: title, expr })),
  ),
  ...dashboard.annotations.list.map(({ expr }) => ({ from: 'annotations', expr })),
].map(({ from, expr }) => ({ from, expr: expr.replaceAll('$__rate_interval', '5m') }));

// biome-ignore lint/suspicious/noExplicitAny: a manifest of any kind, checked against its schema
export type Manifest = any;

/** All documents of a file. */
export const manifestsOf = (file: string): Manifest[] =>
  parseAllDocuments(deployed(file), { uniqueKeys: true }).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS();
  });

/** The system's promtool, or the one that set-up unpacked; undefined, and said, where there is neither. */
export const promtool = ['promtool', projectPath('.cache/promtool/usr/bin/promtool')].find(
  (program) => spawnSync(program, ['--version']).status === 0,
);

if (promtool === undefined) {
  process.stderr.write('There is no promtool (Debian package prometheus): what it checks is skipped\n');
}
