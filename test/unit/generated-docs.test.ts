import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { generatedDocs } from '../../src/api/generated-docs.ts';
import { commandLineMarkdown } from '../../src/cli/command-line-page.ts';
import { settings, variableOf } from '../../src/config.ts';
import { projectPath } from '../../src/paths.ts';

const docs: Record<string, string> = {
  ...generatedDocs(),
  'docs/command-line.md': commandLineMarkdown(),
};

describe('docs made from tables', () => {
  // Line breaks in JSON are the formatter's business.
  const content = (path: string, text: string) => (path.endsWith('.json') ? JSON.parse(text) : text);

  test.each(
    Object.keys(docs),
  )('%s is up to date; if not, build and run: node scripts/generate-docs.mjs', (path) => {
    const committed = readFileSync(projectPath(path), 'utf8');
    expect(content(path, committed)).toEqual(content(path, docs[path]!));
  });

  test('name every setting, and nothing of the machine that they were made on', () => {
    const page = docs['docs/configuration.md']!;
    const rows = page.split('\n').filter((line) => line.startsWith('| `'));
    expect(rows.map((row) => row.split('`')[1])).toEqual(Object.keys(settings).map(variableOf));
    expect(rows.find((row) => row.includes('`FACEMATCH_WORKERS`'))).toContain('| the CPU quota |');
  });

  test('tell the defaults that depend on other settings as they are', () => {
    expect(settings.queue.fallback({ workers: 3 })).toBe(24);
    expect(docs['docs/configuration.md']).toContain('| 8 × `FACEMATCH_WORKERS` |');
    const [least, more] = [0, 600 * 1024 * 1024].map((max_body_bytes) =>
      settings.max_upload_bytes.fallback({ max_body_bytes }),
    );
    expect(docs['docs/configuration.md']).toContain(
      `| \`${least}\`, or \`FACEMATCH_MAX_BODY_BYTES\` when that is more |`,
    );
    expect(more).toBe(600 * 1024 * 1024);
  });
});
