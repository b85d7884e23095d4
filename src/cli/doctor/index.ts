import type { Command } from 'commander';
import { addHelp, exitCodes } from '../help.ts';

interface DoctorOptions {
  json?: true;
  strict?: true;
}

export function registerDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .description('check what a server needs and say how to fix what is missing')
    .option('--strict', 'let warnings fail as well')
    .option('--json', 'print the findings as JSON')
    .action(doctor);
  addHelp(command, {
    notes: `Each line is one finding: ok, warning (a server would start, or needs only its first key), fail (it would not start, or
not work well), or unknown (not checked, because of another finding).
It changes nothing, and reads settings from the environment as a server would.

Exit codes: ${exitCodes.success} all is well, or there are only warnings; ${exitCodes.failure} something failed, or --strict and a warning.`,
    examples: ['facematch doctor', 'facematch doctor --strict --json', 'FACEMATCH_PORT=80 facematch doctor'],
  });
}

async function doctor({ json, strict }: DoctorOptions): Promise<void> {
  const { describeFinding, examine, verdictOf } = await import('./finding.ts');
  const { machineChecks } = await import('./machine.ts');
  const { serviceChecks } = await import('./service.ts');
  const { coloursFor, count } = await import('../terminal.ts');
  const colours = coloursFor('stdout');
  const findings = [];
  for await (const finding of examine({ ...machineChecks, ...serviceChecks })) {
    findings.push(finding);
    if (!json) console.log(describeFinding(finding, colours));
  }
  const { ok, fail, warning } = verdictOf(findings, strict === true);
  const summary = fail + warning === 0 ? 'All is well.' : `${fail} failed, ${count(warning, 'warning')}.`;
  console.log(json ? JSON.stringify({ ok, findings }, null, 2) : `\n${summary}`);
  if (!ok) process.exitCode = exitCodes.failure;
}
