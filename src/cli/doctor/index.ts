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
    .option('--strict', 'exit with an error for warnings too')
    .option('--json', 'print the findings as JSON')
    .action(doctor);
  addHelp(command, {
    notes: `Each line is one finding: ok; warning (a server would start, or needs only its first key); fail (a server would not
start, or would not work well); unknown (not checked, usually because of another finding).
The command changes nothing. It reads settings from the environment as a server would.

Exit codes: ${exitCodes.success} no line says fail; ${exitCodes.failure} a line says fail or, with --strict, warning.`,
    examples: ['facematch doctor', 'FACEMATCH_PORT=80 facematch doctor'],
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
  const summary =
    fail + warning === 0 ? 'No problems found.' : `${fail} failed, ${count(warning, 'warning')}.`;
  console.log(json ? JSON.stringify({ ok, findings }, null, 2) : `\n${summary}`);
  if (!ok) process.exitCode = exitCodes.failure;
}
