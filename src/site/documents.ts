import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip, gzipSync } from 'node:zlib';
import type { Config } from '../config/config.ts';
import { samples } from '../config/paths.ts';
import { demoPage } from '../demo/page.ts';
import type { Headers, Reply } from '../http/exchange.ts';
import { openApiDocument } from './document.ts';
import { docsPage, scriptParts } from './page.ts';

type DocumentId = 'openapi' | 'docs' | 'demo';

/**
 * Returns a function that returns a document. `id`: id of the endpoint. `query`: query string, which may name a sample
 * photo of the demo page, or a part of the script of the documentation page. A document is built for its first
 * request, and kept.
 */
export function documents(config: Config) {
  const made = new Map<string, StaticDocument | Promise<StaticDocument>>();
  const files = filesByPath();
  return (id: string, query = ''): StaticDocument | Promise<StaticDocument> => {
    const file = files.get(`${id}?${query}`);
    const key = file ?? id;
    const known = made.get(key);
    if (known !== undefined) return known;
    const document = file === undefined ? makers[id as DocumentId](config) : fileDocument(file);
    made.set(key, document);
    if (document instanceof Promise) {
      document.then(
        (ready) => made.set(key, ready),
        () => made.delete(key),
      );
    }
    return document;
  };
}

/** Returns the files by endpoint id and query. */
function filesByPath(): Map<string, string> {
  const photos = samples.map((file, i) => [`demo?sample=${i + 1}`, file] as const);
  const parts = scriptParts().map(([query, file]) => [`docs?${query}`, file] as const);
  return new Map([...photos.filter(([, file]) => existsSync(file)), ...parts]);
}

/** Compresses a file on another thread, because a part of the script has up to a megabyte. */
async function fileDocument(file: string): Promise<StaticDocument> {
  const body = await readFile(file);
  const type = file.endsWith('.js') ? 'text/javascript; charset=utf-8' : 'image/jpeg';
  return new StaticDocument(type, body, [], await promisify(gzip)(body));
}

const page = 'text/html; charset=utf-8';

const makers: Readonly<Record<DocumentId, (config: Config) => StaticDocument>> = {
  openapi: (config) => new StaticDocument('application/json', JSON.stringify(openApiDocument(config))),
  docs(config) {
    const { html, policy } = docsPage(openApiDocument(config));
    const headers: Headers = [
      ['Content-Security-Policy', policy],
      ['Referrer-Policy', 'no-referrer'],
    ];
    return new StaticDocument(page, html, headers);
  },
  demo(config) {
    const { html, headers } = demoPage(config);
    return new StaticDocument(page, html, headers);
  },
};

/** A document that does not change while the server runs, uncompressed and with gzip, each with its own ETag. */
export class StaticDocument {
  readonly #plain: Encoded;
  readonly #packed: Encoded;

  constructor(content_type: string, body: string | Buffer, headers: Headers = [], packed = gzipSync(body)) {
    const all: Headers = [['Content-Type', content_type], ['X-Content-Type-Options', 'nosniff'], ...headers];
    this.#plain = encodedOf(Buffer.from(body), all);
    this.#packed = encodedOf(packed, [...all, ['Content-Encoding', 'gzip']]);
  }

  /** Returns 304 if the client has this version (RFC 9110, section 13.1.2), with the headers of section 15.4.5. */
  reply(if_none_match: string | undefined, accept_encoding: string | undefined): Reply {
    const { body, etag, headers } = takesGzip(accept_encoding) ? this.#packed : this.#plain;
    const own: Headers = [
      ['ETag', etag],
      ['Vary', 'Accept-Encoding'],
    ];
    return isNamed(etag, if_none_match)
      ? { status: 304, headers: own, body: '' }
      : { status: 200, headers: [...own, ...headers], body };
  }
}

interface Encoded {
  body: Buffer;
  etag: string;
  headers: Headers;
}

const encodedOf = (body: Buffer, headers: Headers): Encoded => ({
  body,
  etag: `"${createHash('sha256').update(body).digest('base64url')}"`,
  headers,
});

/** Returns true if Accept-Encoding names gzip (RFC 9110, section 12.5.3). `*` does not count. */
function takesGzip(accept_encoding = ''): boolean {
  return /(?:^|,)\s*gzip\s*(?:$|,|;\s*q=(?!0(?:\.0*)?\s*(?:$|,)))/i.test(accept_encoding);
}

/** Compares weakly (RFC 9110, section 8.8.3.2). Splitting at commas is safe, because these ETags contain none. */
function isNamed(etag: string, if_none_match = ''): boolean {
  const named = if_none_match.split(',').map((name) => name.trim().replace(/^W\//, ''));
  return named.includes(etag) || named[0] === '*';
}
