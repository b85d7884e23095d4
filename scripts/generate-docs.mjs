// Writes the files of docs/ and deploy/, and the tables of THIRD_PARTY_NOTICES.md, that are generated from the built program's tables.
// Run after a build (npm run setup); a test fails when they are not up to date.
import { spawnSync } from 'node:child_process';
import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { scoreChart } from '../dist/lab/score-chart.js';
import { readConfig } from '../dist/src/config/config.js';
import { packDirectory, readCalibratedManifest } from '../dist/src/engine/manifest.js';
import { openApiDocument } from '../dist/src/site/document.js';
import { examples } from '../dist/src/site/examples.js';
import { commandLineMarkdown } from './lib/command-line.mjs';
import {
  endpointsTable,
  errorsTable,
  facesTable,
  fieldsTable,
  filled,
  metricsPage,
  settingsTable,
  warningsTable,
} from './lib/markdown.mjs';
import { pictures } from './lib/pictures.mjs';
import { thirdPartyTables } from './lib/third-party.mjs';

/** Text by path. Reads the project in the working directory. */
export async function generatedDocs() {
  return {
    'docs/openapi.json': `${JSON.stringify(openApiDocument(readConfig({})), null, 2)}\n`,
    'docs/api.md': filled('docs/api.md', {
      endpoints: endpointsTable(),
      fields: fieldsTable(),
      faces: facesTable(),
      warnings: warningsTable(),
      errors: errorsTable(),
      faceless: `\`\`\`json\n${JSON.stringify(examples.no_face_found, null, 2)}\n\`\`\``,
    }),
    'docs/configuration.md': filled('docs/configuration.md', { settings: settingsTable() }),
    'docs/metrics.md': metricsPage(),
    'docs/scores/percent.svg': scoreChart(readCalibratedManifest(packDirectory('default'))),
    ...pictures(examples),
    'docs/command-line.md': await commandLineMarkdown(),
    'THIRD_PARTY_NOTICES.md': filled('THIRD_PARTY_NOTICES.md', thirdPartyTables()),
    'deploy/kubernetes/monitoring/prometheus-rule.yaml': prometheusRule(),
  };
}

const ruleHead = `# Made by scripts/generate-docs.mjs of deploy/prometheus/alerts.yml; change that instead.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: facematch
  labels:
    app.kubernetes.io/name: facematch
spec:
`;

/** The rules of deploy/prometheus/alerts.yml as the Prometheus operator reads them. */
function prometheusRule() {
  const rules = readFileSync('deploy/prometheus/alerts.yml', 'utf8');
  const groups = rules.slice(rules.indexOf('groups:')).replaceAll(/^(?=.)/gm, '  ');
  return `${ruleHead}${groups}`;
}

const program = fileURLToPath(import.meta.url);
if (realpathSync(process.argv[1]) === program) {
  process.chdir(dirname(dirname(program)));
  const docs = await generatedDocs();
  for (const [path, text] of Object.entries(docs)) writeFileSync(path, text);

  // The linter breaks JSON lines in its own way.
  const json = Object.keys(docs).filter((path) => path.endsWith('.json'));
  const biome = ['node_modules/@biomejs/biome/bin/biome', 'format', '--write', '--log-level=error', ...json];
  const { status } = spawnSync(process.execPath, biome, { stdio: 'inherit' });
  if (status === 0) console.log(`Wrote ${Object.keys(docs).join(', ')}`);
  process.exitCode = status ?? 1;
}
