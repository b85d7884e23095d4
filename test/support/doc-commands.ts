import { readdirSync, readFileSync } from 'node:fs';
import { projectPath } from '../../src/config/paths.ts';

/** The commands that a reader of the project's pages would type. */

/** Every page of the project that shows how to use it, with its text. */
export const pages: ReadonlyMap<string, string> = new Map(
  ['', 'docs/', 'docs/clients/', 'docs/examples/', 'docs/research/', 'models/', 'bench/'].flatMap((folder) =>
    readdirSync(projectPath(folder))
      .filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md')
      .map((name) => [folder + name, readFileSync(projectPath(folder + name), 'utf8')] as const),
  ),
);

export interface DocumentedCommand {
  line: string;
  /** Returns the first page that has it. */
  file: string;
}

/**
 * Returns the lines of every block of commands, once each: with continuations joined, without comments and
 * the last `&`.
 */
export function documentedCommands(): DocumentedCommand[] {
  const found = new Map<string, DocumentedCommand>();
  for (const [file, text] of pages) {
    for (const [, block] of text.matchAll(/^```sh\n(.*?)^```$/gms)) {
      for (const typed of block!.replaceAll(/\\\n\s*/g, '').split('\n')) {
        const line = typed.replace(/(?:^|\s+)#.*$/, '').replace(/\s+&$/, '');
        if (line !== '' && !found.has(line)) found.set(line, { line, file });
      }
    }
  }
  return [...found.values()];
}
