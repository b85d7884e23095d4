// Writes the files that are made from tables. Run after a build (npm run setup); a test fails when they are not up to date.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generatedDocs } from './lib/generated-docs.mjs';

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))));
const docs = generatedDocs();
for (const [path, text] of Object.entries(docs)) writeFileSync(path, text);

// The linter has its own view of where JSON breaks its lines.
const json = Object.keys(docs).filter((path) => path.endsWith('.json'));
const biome = ['node_modules/@biomejs/biome/bin/biome', 'format', '--write', '--log-level=error', ...json];
const { status } = spawnSync(process.execPath, biome, { stdio: 'inherit' });
if (status === 0) console.log(`Wrote ${Object.keys(docs).join(', ')}`);
process.exitCode = status ?? 1;
