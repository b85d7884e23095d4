import { codeSpans, markdownFiles, type Page, pageText, readPage } from './markdown.ts';

/** What a reader of the project's pages would type. */

export interface DocumentedCommand {
  line: string;
  /** The first page that has it. */
  file: string;
  /** From a block of commands, which are typed as they stand; a line of prose may leave out what does not matter there. */
  whole: boolean;
}

export const pages: ReadonlyMap<string, Page> = new Map(
  markdownFiles()
    .filter((file) => file !== 'CHANGELOG.md')
    .map((file) => [file, readPage(pageText(file))]),
);

/** Settings, then a program with at least one word to it. */
const command =
  /^(?:[A-Z_]+=\S+ )*(?:(?:npm|npx|node|curl|cmake|ctest|facematch(?! listens)) \S|deploy\/prove-\w)/;

/** Every command, once. */
export function documentedCommands(): DocumentedCommand[] {
  const found = new Map<string, DocumentedCommand>();
  for (const [file, { fences, prose }] of pages) {
    const typed = fences.filter(({ language }) => language === 'sh').flatMap(({ text }) => shellLines(text));
    for (const line of typed) if (!found.get(line)?.whole) found.set(line, { line, file, whole: true });
    for (const line of codeSpans(prose).filter((code) => command.test(code)))
      if (!found.has(line)) found.set(line, { line, file, whole: false });
  }
  return [...found.values()];
}

/** Joined where a line goes on, without comments, and without the & that only frees a terminal. */
export function shellLines(text: string): string[] {
  return text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.replace(/(?:^|\s+)#.*$/, '').replace(/\s+&$/, ''))
    .filter((line) => line !== '');
}
