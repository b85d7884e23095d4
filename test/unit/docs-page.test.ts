import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { openApiDocument } from '../../src/site/document.ts';
import { docsPage } from '../../src/site/page.ts';
import { Publication } from '../../src/site/publications.ts';

/** What it does in a browser is tested in test/browser/docs-page.test.ts. */

describe("the API's page", () => {
  const document = openApiDocument(readConfig({}));
  const info = { ...document.info, description: '</script><!-- <script>' };
  const { html, policy } = docsPage({ ...document, info });
  const all = (pattern: RegExp) => [...html.matchAll(pattern)].map(([, found]) => found!);

  test('is let by its policy to run its own scripts and to ask its own server, and nothing else', () => {
    const scripts = all(/<script>(.*?)<\/script>/gs);
    expect(scripts).toHaveLength(2);
    const hashes = scripts.map((text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`);
    expect(policy.split('; ')).toEqual([
      "default-src 'none'",
      `script-src ${hashes.join(' ')}`,
      "style-src 'unsafe-inline'",
      'img-src blob: data:',
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
  });

  test('shows the document that it was given, whatever that says', () => {
    const [settings] = all(/id="settings">(.*?)<\/script>/g);
    expect(JSON.parse(settings!).content).toEqual({ ...document, info });
  });
});

describe('a publication', () => {
  const text = 'text '.repeat(100);
  const publication = new Publication('text/plain', text);
  const headersOf = (accept?: string) => new Map(publication.reply(undefined, accept).headers);
  const etag = headersOf().get('ETag')!;

  test('has another name when its text is another', () => {
    const other = new Publication('text/plain', `${text} `).reply(undefined, undefined);
    expect(new Map(other.headers).get('ETag')).not.toBe(etag);
  });

  test.each([etag, `W/${etag}`, `"a,b",W/${etag},"c"`, '*'])(
    'is not sent again to one that names %s',
    (named) => {
      const headers = [
        ['ETag', etag],
        ['Vary', 'Accept-Encoding'],
      ];
      expect(publication.reply(named, undefined)).toEqual({ status: 304, headers, body: '' });
    },
  );

  test('is sent packed, under another name, to one that takes that', () => {
    const { status, headers, body } = publication.reply(etag, 'br, gzip');
    expect([status, new Map(headers).get('Content-Encoding')]).toEqual([200, 'gzip']);
    expect(gunzipSync(body).toString()).toBe(text);
    const packed = new Map(headers).get('ETag')!;
    expect(packed).not.toBe(etag);
    expect(publication.reply(packed, 'gzip').status).toBe(304);
  });

  test.each([
    ['gzip', true],
    ['deflate;q=0.5, GZIP;q=1.0', true],
    ['gzip;q=0.001', true],
    ['gzip ; q=0', false],
    ['gzip;q=0.0, identity', false],
    ['x-gzip, gzipped', false],
    ['identity', false],
    ['', false],
  ])('accept-encoding: "%s" takes gzip: %s', (accept, takes) => {
    expect(headersOf(accept).has('Content-Encoding')).toBe(takes);
  });
});
