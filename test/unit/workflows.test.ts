import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { validateWorkflow } from '@action-validator/core';
import { expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';

/** The workflows of GitHub Actions, by the schema that editors use. */

const folder = projectPath('.github/workflows');
const { scripts } = JSON.parse(readFileSync(projectPath('package.json'), 'utf8'));

test.each(readdirSync(folder))('%s is of its schema, and runs scripts that there are', (name) => {
  const content = readFileSync(join(folder, name), 'utf8');
  expect(validateWorkflow(content).errors).toEqual([]);
  const called = [...content.matchAll(/- run: npm (?:run )?(?!ci)([\w:-]+)$/gm)].map(([, script]) => script!);
  expect(called).not.toEqual([]);
  expect(called.filter((script) => !(script in scripts))).toEqual([]);
});

test('a misspelt word is found', () => {
  const { errors } = validateWorkflow('on: push\njobs:\n  a:\n    runs-on: x\n    stpes: []\n');
  expect(JSON.stringify(errors)).toContain('stpes');
});
