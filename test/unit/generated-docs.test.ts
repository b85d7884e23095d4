import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { generatedDocs } from '../../scripts/lib/generated-docs.mjs';
import { openApiDocument } from '../../src/api/document.ts';
import { metricsTable, settingsTable } from '../../src/api/markdown.ts';
import { docsPage } from '../../src/api/page.ts';
import { scorePicture } from '../../src/api/score-picture.ts';
import { commandLineMarkdown } from '../../src/cli/command-line-page.ts';
import { readConfig, settings } from '../../src/config.ts';
import { packDirectory, readManifest } from '../../src/engine/pack.ts';
import { routes } from '../../src/http/routes.ts';
import { projectPath } from '../../src/paths.ts';

const document = openApiDocument(routes, readConfig({}));
const docs: Record<string, string> = await generatedDocs({
  document,
  page: docsPage(document).html,
  settings: settingsTable(),
  metrics: metricsTable(),
  picture: scorePicture(readManifest(packDirectory('default'))),
  commandLine: commandLineMarkdown(),
});
const committed = (path: string) => readFileSync(projectPath(path), 'utf8');

test.each(Object.keys(docs))('%s is up to date; if not, run: npm run docs', (path) => {
  // Line breaks in JSON are the formatter's business.
  const content = (text: string) => (path.endsWith('.json') ? JSON.parse(text) : text);
  expect(content(committed(path))).toEqual(content(docs[path]!));
});

test('defaults that depend on other settings are as docs/configuration.md says', () => {
  expect(settings.queue.fallback({ workers: 3 })).toBe(24);
  expect(docs['docs/configuration.md']).toContain('| 8 × `FACEMATCH_WORKERS` |');
  const more = 600 * 1024 * 1024;
  expect(settings.max_upload_bytes.fallback({ max_body_bytes: 0 })).toBe(268_435_456);
  expect(settings.max_upload_bytes.fallback({ max_body_bytes: more })).toBe(more);
  expect(docs['docs/configuration.md']).toContain(
    '| `268435456`, or `FACEMATCH_MAX_BODY_BYTES` when that is more |',
  );
});

test('the shares in docs/thresholds.md are those of the model card', () => {
  const card = committed('docs/model-card.md').split('\n');
  const rows = committed('docs/thresholds.md').match(/^\| \d+ \|.*$/gm)!;
  expect(rows).toHaveLength(3);
  for (const row of rows) {
    const [percent, , press, web] = row.slice(2, -2).split(' | ');
    const measured = card.find((line) =>
      line.startsWith(`| balance | with the cohort | ${percent} percent |`),
    );
    expect(measured).toContain(`| ${press} |`);
    expect(measured).toContain(`| ${web} |`);
  }
});
