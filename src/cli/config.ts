import type { Command } from 'commander';
import {
  type SettingName,
  type SettingsSurvey,
  shownValue,
  surveySettings,
  unknownVariables,
  variableOf,
} from '../config/config.ts';
import { addHelp, exitCodes } from './help.ts';
import { aligned, complain, printable, warn } from './terminal.ts';

interface ConfigOptions {
  check?: true;
  json?: true;
}

export function registerConfig(program: Command): void {
  const command = program
    .command('config')
    .description('show all settings in effect and their source, without secrets')
    .option('--check', 'show only errors and warnings')
    .option('--json', 'print settings, errors and warnings as JSON')
    .action(config);
  addHelp(command, {
    notes: `An invalid value is ignored, as if it were not set, and the error is printed to standard error.

Exit codes: ${exitCodes.success} all settings are valid; ${exitCodes.failure} a server would not start.`,
    examples: ['facematch config', 'FACEMATCH_CONFIG=./facematch.json facematch config --check'],
  });
}

function config({ check, json }: ConfigOptions): void {
  const survey = surveySettings();
  const { faults } = survey;
  const warnings = unknownVariables().map((name) => `${name} is not a setting and is ignored`);
  const settings = effectiveSettings(survey);
  const ok = faults.length === 0;
  if (json) console.log(JSON.stringify({ ok, faults, warnings, ...(check ? {} : { settings }) }, null, 2));
  else {
    if (!check) console.log(settingTable(settings));
    warn(warnings);
    complain(faults);
  }
  if (!ok) process.exitCode = exitCodes.failure;
}

/** Returns the settings in effect by variable, in the order of the table, without secrets. */
function effectiveSettings({ config, sources }: SettingsSurvey) {
  const names = Object.keys(config) as SettingName[];
  return Object.fromEntries(
    names.map((name) => [variableOf(name), { value: shownValue(name, config[name]), from: sources[name] }]),
  );
}

/** Returns one line per setting: variable, value, source. */
function settingTable(settings: ReturnType<typeof effectiveSettings>): string {
  const rows = Object.entries(settings).map(([variable, { value, from }]) => {
    return [variable, printable(String(value)) || '-', from];
  });
  return aligned(rows).join('\n');
}
