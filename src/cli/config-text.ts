import {
  type Config,
  type SettingName,
  type SettingSource,
  type SettingsSurvey,
  shownValue,
  variableOf,
} from '../config.ts';
import { printable } from './terminal.ts';

/** By variable, in the order of the table. */
export type EffectiveSettings = Readonly<Record<string, { value: Config[SettingName]; from: SettingSource }>>;

/** What may be printed of the settings in force. */
export function effectiveSettings({ config, sources }: SettingsSurvey): EffectiveSettings {
  const names = Object.keys(config) as SettingName[];
  return Object.fromEntries(
    names.map((name) => [variableOf(name), { value: shownValue(name, config[name]), from: sources[name] }]),
  );
}

/** One line each: variable, value, where it comes from. */
export function settingTable(settings: EffectiveSettings): string {
  const rows = Object.entries(settings).map(([variable, { value, from }]) => {
    const text = printable(Array.isArray(value) ? value.join(',') : String(value));
    return [variable, text === '' ? '-' : text, from] as const;
  });
  const width = (at: 0 | 1) => Math.max(...rows.map((row) => row[at].length));
  const [variables, values] = [width(0), width(1)];
  return rows
    .map(([variable, value, from]) => `${variable.padEnd(variables)}  ${value.padEnd(values)}  ${from}`)
    .join('\n');
}
