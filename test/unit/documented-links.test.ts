import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';
import { anchorsOf, linksOf, markdownFiles, pageText, readPage } from '../support/markdown.ts';

/** Every link within the project, in all of its pages. */

const files = markdownFiles();
const pages = new Map(files.map((file) => [file, readPage(pageText(file))]));

const isOutside = (target: string) => /^https?:/.test(target);

/** What is wrong with a link, or undefined. */
function faultOf(file: string, target: string): string | undefined {
  const [path = '', anchor] = target.split('#');
  const place = path === '' ? file : join(dirname(file), path);
  if (place.startsWith('..')) return 'leads out of the project';
  if (!existsSync(projectPath(place))) return 'leads nowhere';
  if (anchor === undefined) return undefined;
  const page = pages.get(place);
  if (page === undefined) return 'has an anchor into what is no page';
  return anchorsOf(page.prose).has(anchor) ? undefined : 'has an anchor that is not there';
}

test('the pages were found', () => {
  expect(files).toEqual(
    expect.arrayContaining(['README.md', 'SECURITY.md', 'docs/README.md', 'models/README.md']),
  );
  expect(files.filter((file) => linksOf(pages.get(file)!.prose).length > 0).length).toBeGreaterThan(10);
});

test.each(files)('every link in %s leads somewhere', (file) => {
  const links = linksOf(pages.get(file)!.prose).filter((target) => !isOutside(target));
  expect(links.map((target) => [target, faultOf(file, target)]).filter(([, fault]) => fault)).toEqual([]);
});

test('every page of docs stands in its index', () => {
  const listed = linksOf(pages.get('docs/README.md')!.prose);
  const own = files.filter((file) => dirname(file) === 'docs' && file !== 'docs/README.md');
  expect(own.filter((file) => !listed.includes(file.slice('docs/'.length)))).toEqual([]);
});

test('no page names a folder of somebody’s machine', () => {
  const told = [...pages].filter(([file]) =>
    /(?:^|[\s`("'])\/(?:root|home|Users|work|tmp)\b/m.test(pageText(file)),
  );
  expect(told.map(([file]) => file)).toEqual([]);
});

describe('the reader of links', () => {
  test.each<[what: string, target: string, fault: string | undefined]>([
    ['a page', 'docs/README.md', undefined],
    ['a heading of a page', 'SECURITY.md#what-is-kept', undefined],
    ['a heading of its own page', '#where-the-weights-come-from', undefined],
    ['an anchor in HTML', 'docs/errors.md#error-no_face_found', undefined],
    ['a folder', 'docs', undefined],
    ['a page that is not there', 'docs/nowhere.md', 'leads nowhere'],
    ['a heading that is not there', 'SECURITY.md#what-is-lost', 'has an anchor that is not there'],
    ['a place outside', '../elsewhere.md', 'leads out of the project'],
    ['an anchor into a picture', 'docs/scores/percent.svg#top', 'has an anchor into what is no page'],
  ])('knows %s', (_, target, fault) => {
    expect(faultOf('README.md', target)).toBe(fault);
  });

  test('sees links and pictures, and none in code', () => {
    expect(linksOf('[a](b.md) `[c](d.md)` ![e](f.svg) [`g`](h.md#i)')).toEqual(['b.md', 'f.svg', 'h.md#i']);
  });

  test('makes anchors as GitHub does', () => {
    const text = '# A `code` & "more"\n## <a id="x"></a>Two words\n## Two words\n# [Link](x.md), so';
    expect([...anchorsOf(text)].sort()).toEqual(
      ['a-code--more', 'link-so', 'two-words', 'two-words-1', 'x'].sort(),
    );
  });

  test('refuses a fence that is not closed', () => {
    expect(() => readPage('before\n```sh\nnpm test\n')).toThrow('before');
  });
});
