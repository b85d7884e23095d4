import { metricName, metricTable } from '../telemetry/metric-table.ts';
import { codes, table } from './markdown-text.ts';

/** The table of docs/monitoring.md. */
export function metricsMarkdown(): string {
  const rows = Object.entries(metricTable).map(([name, { type, help, labels = {} }]) => [
    `\`${metricName(name)}\``,
    type,
    help,
    Object.entries(labels)
      .map(([label, values]) => `\`${label}\`: ${typeof values === 'string' ? values : codes([...values])}`)
      .join('; '),
  ]);
  return table(['metric', 'type', 'what', 'labels'], rows);
}
