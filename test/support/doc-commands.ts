import { readdirSync, readFileSync } from 'node:fs';
import { projectPath } from '../../src/config/paths.ts';

/** Extracts the commands in the project's pages. */

/** The text of the project's pages except CHANGELOG.md, by path. */
export const pages: ReadonlyMap<string, string> = new Map(
  ['', 'docs/', 'docs/clients/', 'docs/examples/', 'docs/research/', 'models/', 'bench/'].flatMap((folder) =>
    readdirSync(projectPath(folder))
      .filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md')
      .map((name) => [folder + name, readFileSync(projectPath(folder + name), 'utf8')] as const),
  ),
);

export interface DocumentedCommand {
  line: string;
  /** The first page that contains the command. */
  file: string;
}

/**
 * Returns each line of the command blocks once, with continuations joined, and without comments and a final `&`.
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
