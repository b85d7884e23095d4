import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { newFolder } from '../support/folder.ts';

/** .github/workflows by GitHub's own parser: members, types, expressions, and the jobs that jobs need. */

// Bundled, because it imports JSON in a way that Node 20 refuses.
const outfile = join(newFolder(), 'parser.mjs');
const entryPoints = [projectPath('node_modules/@actions/workflow-parser/dist/index.js')];
buildSync({ entryPoints, outfile, bundle: true, format: 'esm', platform: 'node' });
const parser: typeof import('@actions/workflow-parser') = await import(outfile);

test.each(readdirSync(projectPath('.github/workflows')))('GitHub understands %s', async (name) => {
  const content = readFileSync(projectPath(`.github/workflows/${name}`), 'utf8');
  const { context, value } = parser.parseWorkflow({ name, content }, new parser.NoOperationTraceWriter());
  if (value) await parser.convertWorkflowTemplate(context, value);
  expect(context.errors.getErrors().map(({ message }) => message)).toEqual([]);
});
