// Writes the files of docs/ and deploy/ that are made from tables, and THIRD_PARTY_NOTICES.md. Run after a build
// (npm run setup); a test fails when they are not up to date.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openApiDocument } from '../dist/src/api/document.js';
import { metricsTable, settingsTable } from '../dist/src/api/markdown.js';
import { docsPage } from '../dist/src/api/page.js';
import { scorePicture } from '../dist/src/api/score-picture.js';
import { commandLineMarkdown } from '../dist/src/cli/command-line-page.js';
import { readConfig } from '../dist/src/config.js';
import { packDirectory, readManifest } from '../dist/src/engine/pack.js';
import { routes } from '../dist/src/http/routes.js';
import { filled, generatedDocs } from './lib/generated-docs.mjs';
import { prometheusRule } from './lib/prometheus-rule.mjs';
import { thirdPartyTables } from './lib/third-party.mjs';

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))));

const document = openApiDocument(routes, readConfig({}));
const docs = {
  ...(await generatedDocs({
    document,
    page: docsPage(document).html,
    settings: settingsTable(),
    metrics: metricsTable(),
    picture: scorePicture(readManifest(packDirectory('default'))),
    commandLine: commandLineMarkdown(),
  })),
  'THIRD_PARTY_NOTICES.md': filled('THIRD_PARTY_NOTICES.md', thirdPartyTables()),
  'deploy/kubernetes/monitoring/prometheus-rule.yaml': prometheusRule(),
};
for (const [path, text] of Object.entries(docs)) writeFileSync(path, text);

// The linter has its own view of where JSON breaks its lines.
const json = Object.keys(docs).filter((path) => path.endsWith('.json'));
const biome = ['node_modules/@biomejs/biome/bin/biome', 'format', '--write', '--log-level=error', ...json];
const { status } = spawnSync(process.execPath, biome, { stdio: 'inherit' });
if (status === 0) console.log(`Wrote ${Object.keys(docs).join(', ')}`);
process.exitCode = status ?? 1;
