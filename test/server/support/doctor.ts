import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Finding } from '../../../src/cli/doctor/finding.ts';
import { projectPath } from '../../../src/config/paths.ts';
import { type Outcome, program, run } from './cli.ts';

export interface Diagnosis extends Outcome {
  ok: boolean;
  findings: Finding[];
  /** The only finding about it. */
  of(what: string): Finding;
}

/** Ports of the machine are left out of it unless `env` names some. */
const anyPort = { FACEMATCH_PORT: '0', FACEMATCH_ADMIN_PORT: '0' };

/** What the doctor finds in a folder, as a script would read it. */
export async function diagnose(
  folder: string,
  env: NodeJS.ProcessEnv = {},
  { script = program, args = [] }: { script?: string; args?: readonly string[] } = {},
): Promise<Diagnosis> {
  const outcome = await run(script, ['doctor', '--json', ...args], folder, { ...anyPort, ...env });
  const { ok, findings } = JSON.parse(outcome.stdout) as Pick<Diagnosis, 'ok' | 'findings'>;
  const of = (what: string) => {
    const [found, ...more] = findings.filter((finding) => finding.what === what);
    if (found === undefined || more.length > 0)
      throw new Error(`Not one line for ${what}: ${outcome.stdout}`);
    return found;
  };
  return { ...outcome, ok, findings, of };
}

/** A copy of what runs, in a folder, without some packages; its bin. The addon is not copied. */
export function copyProgram(folder: string, without: readonly string[]): string {
  for (const part of ['dist', 'scripts', 'package.json', 'CMakeLists.txt', 'models/packs/default']) {
    cpSync(projectPath(part), join(folder, part), { recursive: true });
  }
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync(projectPath('node_modules')))
    if (!name.startsWith('.') && !without.includes(name))
      symlinkSync(projectPath(`node_modules/${name}`), join(folder, 'node_modules', name));
  cpSync(projectPath('build/uws'), join(folder, 'build/uws'), { recursive: true });
  return join(folder, 'scripts/facematch.mjs');
}
