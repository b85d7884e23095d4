import { readFileSync } from 'node:fs';
import { projectPath } from './paths.ts';

/** The version of this program, from package.json. */
export function version(): string {
  const text = readFileSync(projectPath('package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
