import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';
import { anchorsOf, linksOf, markdownFiles, pageText, readPage } from '../support/markdown.ts';

const files = markdownFiles();
const pages = new Map(files.map((file) => [file, readPage(pageText(file)).prose]));

/** What is wrong with a link within the project, or undefined. */
function faultOf(file: string, target: string): string | undefined {
  const [path = '', anchor] = target.split('#');
  const place = path === '' ? file : join(dirname(file), path);
  if (place.startsWith('..')) return `${target} leads out of the project`;
  if (!existsSync(projectPath(place))) return `${target} leads nowhere`;
  if (anchor === undefined) return undefined;
  return anchorsOf(pages.get(place) ?? '').has(anchor) ? undefined : `${target}: no such anchor`;
}

test('links and anchors are found in the pages', () => {
  expect(files).toEqual(expect.arrayContaining(['README.md', 'docs/README.md', 'models/README.md']));
  expect(linksOf(pages.get('docs/README.md')!)).toContain('getting-started.md');
  expect(faultOf('README.md', 'docs/errors.md#error-no_face_found')).toBeUndefined();
  expect(faultOf('README.md', 'docs/errors.md#error-none')).toContain('no such anchor');
  expect(faultOf('README.md', 'docs/nowhere.md')).toContain('leads nowhere');
});

test.each(files)('every link in %s leads somewhere', (file) => {
  const links = linksOf(pages.get(file)!).filter((target) => !/^https?:/.test(target));
  expect(links.map((target) => faultOf(file, target)).filter((fault) => fault !== undefined)).toEqual([]);
});

test('every page of docs stands in its index', () => {
  const listed = linksOf(pages.get('docs/README.md')!);
  const own = files.filter((file) => dirname(file) === 'docs' && file !== 'docs/README.md');
  expect(own.filter((file) => !listed.includes(file.slice('docs/'.length)))).toEqual([]);
});

test('no page names a folder of somebody’s machine', () => {
  const folder = /(?:^|[\s`("'])\/(?:root|home|Users|work|tmp)\b/m;
  expect(files.filter((file) => folder.test(pageText(file)))).toEqual([]);
});
