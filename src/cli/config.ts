import type { Command } from 'commander';
import { exitCodes } from './exit-codes.ts';
import { addHelp } from './help-text.ts';

interface ConfigOptions {
  check?: true;
  json?: true;
}

export function registerConfig(program: Command): void {
  const command = program
    .command('config')
    .description('show every setting in force and where it comes from, without secrets')
    .option('--check', 'show only what is wrong')
    .option('--json', 'print settings, faults and warnings as JSON')
    .action(config);
  addHelp(command, {
    notes: `Settings come from the environment, then from the JSON file that FACEMATCH_CONFIG names, then from the defaults.
A setting that is wrong is shown with its default, and what is wrong goes to standard error.

Exit codes: ${exitCodes.success} a server would take all of them; ${exitCodes.failure} it would not.`,
    examples: [
      'facematch config',
      'FACEMATCH_CONFIG=./facematch.json facematch config --check',
      'facematch config --json',
    ],
  });
}

async function config({ check, json }: ConfigOptions): Promise<void> {
  const { surveySettings, unknownVariables } = await import('../config.ts');
  const { effectiveSettings, settingTable } = await import('./config-text.ts');
  const { coloursFor, printable } = await import('./terminal.ts');
  const survey = surveySettings();
  const { faults } = survey;
  const warnings = unknownVariables().map((name) => `${name} is not a setting and is ignored`);
  const settings = effectiveSettings(survey);
  const ok = faults.length === 0;
  const { red, yellow } = coloursFor('stderr');
  if (json) console.log(JSON.stringify({ ok, faults, warnings, ...(check ? {} : { settings }) }, null, 2));
  else {
    if (!check) console.log(settingTable(settings));
    for (const warning of warnings) console.error(`${yellow('warning:')} ${printable(warning)}`);
    for (const fault of faults) console.error(`${red('error:')} ${printable(fault)}`);
  }
  if (!ok) process.exitCode = exitCodes.failure;
}
