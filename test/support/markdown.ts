import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectPath } from '../../src/paths.ts';

/** What tests read in the project's Markdown. */

const foreign = new Set(['node_modules', 'build', 'dist', 'coverage']);

/** Every page of the project, relative to it. */
export function markdownFiles(folder = ''): string[] {
  return readdirSync(projectPath(folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory())
        return foreign.has(entry.name) || entry.name[0] === '.' ? [] : markdownFiles(path);
      return entry.name.endsWith('.md') ? [path] : [];
    })
    .sort();
}

export function pageText(file: string): string {
  return readFileSync(projectPath(file), 'utf8');
}

export interface Fence {
  /** The word behind the backticks; empty when there is none. */
  language: string;
  text: string;
  /** The last line of prose before it. */
  lead: string;
}

export interface Page {
  /** Everything outside fences. */
  prose: string;
  fences: Fence[];
}

export function readPage(text: string): Page {
  const fences: Fence[] = [];
  const prose: string[] = [];
  let open: string[] | undefined;
  for (const line of text.split('\n')) {
    const fence = /^```(\w*)$/.exec(line);
    if (fence === null) {
      (open ?? prose).push(line);
    } else if (open === undefined) {
      open = [];
      fences.push({ language: fence[1]!, text: '', lead: prose.findLast((one) => one !== '') ?? '' });
    } else {
      fences.at(-1)!.text = open.join('\n');
      open = undefined;
    }
  }
  if (open !== undefined) throw new Error(`A fence is not closed: ${fences.at(-1)!.lead}`);
  return { prose: prose.join('\n'), fences };
}

/** Code within a line; in a table a bar is escaped. */
export function codeSpans(prose: string): string[] {
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!.replaceAll('\\|', '|'));
}

/** Targets of links and pictures, code left out. */
export function linksOf(prose: string): string[] {
  const withoutCode = prose.replaceAll(/`[^`\n]*`/g, 'code');
  return [...withoutCode.matchAll(/\]\(([^()\s]+)\)/g)].map(([, target]) => target!);
}

/** What can stand behind #: as GitHub makes them of headings, and `<a id="…">`. */
export function anchorsOf(prose: string): Set<string> {
  const anchors = new Set([...prose.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id!));
  for (const [, heading] of prose.matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = slugOf(heading!);
    let anchor = slug;
    for (let again = 1; anchors.has(anchor); again++) anchor = `${slug}-${again}`;
    anchors.add(anchor);
  }
  return anchors;
}

function slugOf(heading: string): string {
  return heading
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}
