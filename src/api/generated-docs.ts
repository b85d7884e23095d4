import { readFileSync } from 'node:fs';
import { readConfig } from '../config.ts';
import { packDirectory, readManifest } from '../engine/pack.ts';
import { routes } from '../http/routes.ts';
import { projectPath } from '../paths.ts';
import { apiMarkdown } from './api-markdown.ts';
import { clientTypes } from './client-types.ts';
import { openApiDocument } from './document.ts';
import { configurationMarkdown, errorsMarkdown } from './markdown.ts';
import { filled } from './markdown-text.ts';
import { metricsMarkdown } from './metrics-markdown.ts';
import { scorePicture } from './score-picture.ts';
import { thresholdTable } from './threshold-table.ts';

/** The files of docs/ that are made from tables, by path, as scripts/generate-docs.mjs writes them. */
export function generatedDocs(): Record<string, string> {
  const document = openApiDocument(routes, readConfig({}));
  const written = (path: string) => readFileSync(projectPath(path), 'utf8');
  return {
    'docs/openapi.json': `${JSON.stringify(document, null, 2)}\n`,
    'docs/api.md': apiMarkdown(document),
    'docs/clients/client-types.d.ts': clientTypes(),
    'docs/errors.md': errorsMarkdown(),
    'docs/configuration.md': configurationMarkdown(),
    'docs/monitoring.md': filled(written('docs/monitoring.md'), 'metrics', metricsMarkdown()),
    'docs/scores/percent.svg': scorePicture(readManifest(packDirectory('default'))),
    'docs/thresholds.md': filled(
      written('docs/thresholds.md'),
      'measured',
      thresholdTable(written('docs/model-card.md')),
    ),
  };
}
