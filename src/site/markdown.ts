import { type Config, type SettingName, settings, variableOf } from '../config/config.ts';
import type { Setting } from '../config/kinds.ts';
import { metricName, metricTable } from '../telemetry/metric-table.ts';

/** Tables of the program as Markdown, for pages of docs/. */

/** A page that is generated as a whole. */
export function page(title: string, ...blocks: string[]): string {
  const note = '<!-- Made by scripts/generate-docs.mjs; change the source instead. -->';
  return `${[title, note, ...blocks].join('\n\n')}\n`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Defaults that depend on the machine or on other settings, in words. */
const derived: Partial<Record<SettingName, string>> = {
  workers: 'the CPU quota',
  queue: '8 × `FACEMATCH_WORKERS`',
  max_upload_bytes: '`268435456`, or `FACEMATCH_MAX_BODY_BYTES` when that is more',
};

/** For docs/configuration.md. */
export function settingsTable(): string {
  const rows = Object.entries<Setting<unknown>>(settings).map(([name, setting]) => [
    `\`${variableOf(name)}\``,
    setting.description,
    setting.expected,
    derived[name as SettingName] ?? plainDefault(setting),
  ]);
  return table(['variable', 'what', 'takes', 'default'], rows);
}

function plainDefault({ fallback }: Setting<unknown>): string {
  const text = String(fallback({} as Config));
  return text === '' ? 'none' : `\`${text}\``;
}

/** For docs/monitoring.md. */
export function metricsTable(): string {
  const rows = Object.entries(metricTable).map(([name, { type, help, labels = {} }]) => [
    `\`${metricName(name)}\``,
    type,
    help,
    Object.entries(labels)
      .map(([label, values]) => `\`${label}\`: ${typeof values === 'string' ? values : words(values)}`)
      .join('; '),
  ]);
  return table(['metric', 'type', 'what', 'labels'], rows);
}

const words = (values: readonly string[]) => values.map((value) => `\`${value}\``).join(', ');
