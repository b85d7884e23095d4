import { codeSpans, type Page } from '../../support/markdown.ts';

/** What a reader of a page would type. */

const programs = ['npm', 'npx', 'node', 'curl', 'cmake', 'ctest', 'apt-get', 'facematch'];
/** Settings, a program and at least one word to it; or an ellipsis that goes on from a command before. */
const command = new RegExp(`^(?:(?:[A-Z_]+=\\S+ )*(?:${programs.join('|')})|…) \\S`);

/** Commands of a page in order: those of its `sh` fences, then those in its lines. */
export function commandsOf({ fences, prose }: Page): string[] {
  const typed = fences.filter(({ language }) => language === 'sh').flatMap(({ text }) => shellLines(text));
  const named = codeSpans(prose).filter((code) => command.test(code));
  return [...new Set([...typed, ...named])];
}

/** Joined where a line goes on, without comments, and without the & that only frees a terminal. */
export function shellLines(text: string): string[] {
  return text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) =>
      line
        .replace(/(?:^|\s+)#.*$/, '')
        .replace(/\s+&$/, '')
        .trim(),
    )
    .filter((line) => line !== '');
}

/** Rows under a head such as `npx facematch …`: each begins with the rest of a command, as its synopsis. */
export function synopsesOf({ prose }: Page): string[] {
  const [, table = ''] = /^\| `npx facematch …` \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)/m.exec(prose) ?? [];
  return [...table.matchAll(/^\| `((?:[^`\\]|\\\|)+)`/gm)].map(([, row]) => row!.replaceAll('\\|', '|'));
}
