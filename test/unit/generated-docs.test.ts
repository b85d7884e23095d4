import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';

process.chdir(projectPath('.'));
const { generatedDocs } = await import(projectPath('scripts/generate-docs.mjs'));
const docs: Record<string, string> = generatedDocs();

test.each(Object.keys(docs))('%s is up to date; if not, run: npm run docs', (path) => {
  // Line breaks in JSON are the formatter's business.
  const content = (text: string) => (path.endsWith('.json') ? JSON.parse(text) : text);
  expect(content(readFileSync(path, 'utf8'))).toEqual(content(docs[path]!));
});

test('no package at run time has a licence that a service may not be built upon', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const all = Object.values<{ dev?: boolean; license?: string }>(packages);
  const licences = new Set(all.flatMap(({ dev, license }) => (dev ? [] : license)));
  expect([...licences].sort()).toEqual([
    '(MIT OR CC0-1.0)',
    'Apache-2.0',
    'BSD-3-Clause',
    'ISC',
    'MIT',
    'Unlicense',
  ]);
});
