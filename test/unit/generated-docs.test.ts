import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { examples } from '../../src/site/examples.ts';

/**
 * Tests the tables of pages that are generated from the source alone. test/server/docs.test.ts tests the pages that
 * need a build.
 */

const markdown = await import(projectPath('scripts/lib/markdown.mjs'));

test.each<[page: string, tables: Record<string, () => string>]>([
  ['configuration', { settings: markdown.settingsTable }],
  [
    'api',
    {
      endpoints: markdown.endpointsTable,
      fields: markdown.fieldsTable,
      faces: markdown.facesTable,
      warnings: markdown.warningsTable,
      errors: markdown.errorsTable,
      faceless: () => `\`\`\`json\n${JSON.stringify(examples.no_face_found, null, 2)}\n\`\`\``,
    },
  ],
])('matches the generated tables of docs/%s.md; if not, run: npm run docs', (page, tables) => {
  const path = projectPath(`docs/${page}.md`);
  const texts = Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, table()]));
  expect(readFileSync(path, 'utf8')).toBe(markdown.filled(path, texts));
});
