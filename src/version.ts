import { readFileSync } from 'node:fs';
import { projectPath } from './paths.ts';

/** Of this program, as package.json has it. */
export function version(): string {
  const text = readFileSync(projectPath('package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
