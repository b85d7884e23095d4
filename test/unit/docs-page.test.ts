import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { endpointIds, readConfig } from '../../src/config/config.ts';
import { errorTable } from '../../src/errors.ts';
import { openApiDocument } from '../../src/site/document.ts';
import { docsPage } from '../../src/site/page.ts';
import { Publication } from '../../src/site/publications.ts';

const document = openApiDocument(readConfig({ FACEMATCH_ENDPOINTS: endpointIds.join(',') }));
const page = docsPage(document);
const all = (pattern: RegExp, text = page.html) => [...text.matchAll(pattern)].map(([, found]) => found!);

describe('the docs page', () => {
  test('has one place for each error, where the problems point to', () => {
    const ids = all(/ id="([^"]+)"/g);
    expect(ids).toHaveLength(new Set(ids).size);
    for (const code of Object.keys(errorTable)) {
      const { type } = document.components.examples[code]!.value as { type: string };
      expect(ids).toContain(type.slice('/API/v1.0/docs#'.length));
    }
  });

  test('shows every path, field, schema member and header', () => {
    const shown = new Set(all(/<code>([^<]+)<\/code>/g));
    const forms = Object.values(document.paths).map(
      ({ post }) => post?.requestBody?.content['multipart/form-data']?.schema ?? {},
    );
    const members = [...forms, ...Object.values(document.components.schemas)].flatMap(({ properties = {} }) =>
      Object.keys(properties),
    );
    const wanted = [...Object.keys(document.paths), ...members, ...Object.keys(document.components.headers)];
    expect(wanted.filter((name) => !shown.has(name))).toEqual([]);
  });

  test('runs no script and loads nothing', () => {
    expect(page.html).not.toMatch(/<script|<iframe|<img|<object|\son\w+=|javascript:|url\(|@import/i);
    const addresses = all(/(?:href|src)="([^"]*)"/g).filter((address) => !address.startsWith('#'));
    expect(new Set(addresses)).toEqual(new Set(['data:,', '/API/v1.0/openapi.json']));
  });

  test('is let by its policy to have the style that it has, and nothing else', () => {
    const [style] = all(/<style>(.*)<\/style>/gs);
    const hash = createHash('sha256').update(style!).digest('base64');
    expect(page.policy.split('; ')).toEqual([
      "default-src 'none'",
      `style-src 'sha256-${hash}'`,
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
    // The hash is of <style> alone: a style attribute would be refused.
    expect(page.html).not.toContain(' style=');
  });

  test('does not link to a document that is switched off', () => {
    const alone = docsPage(openApiDocument(readConfig({ FACEMATCH_ENDPOINTS: 'match,docs' })));
    expect(alone.html).not.toContain('/API/v1.0/openapi.json');
    expect(alone.html).not.toContain('/API/v1.0/models');
  });

  test('shows what looks like HTML as text', () => {
    const info = { ...document.info, title: '<b>"&\'', description: 'a `<i>` b\n\n- <script>x</script>' };
    const { html: text } = docsPage({ ...document, info });
    expect(text).toContain('<h1>&lt;b&gt;&quot;&amp;&#39;');
    expect(text).toContain('<p>a <code>&lt;i&gt;</code> b</p>');
    expect(text).toContain('<li>&lt;script&gt;x&lt;/script&gt;</li>');
  });
});

describe('a publication', () => {
  const publication = new Publication('text/plain', 'text');
  const etag = publication.reply(undefined).headers.find(([name]) => name === 'ETag')![1];

  test('has another name when its text is another', () => {
    const other = new Publication('text/plain', 'text ').reply(undefined);
    expect(other.headers.find(([name]) => name === 'ETag')![1]).not.toBe(etag);
  });

  test.each([etag, `W/${etag}`, `"a,b",W/${etag},"c"`, '*'])(
    'is not sent again to one that names %s',
    (named) => {
      expect(publication.reply(named)).toEqual({ status: 304, headers: [['ETag', etag]], body: '' });
    },
  );
});
