import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Config } from '../config/config.ts';
import { demoPage } from '../demo/page.ts';
import type { Headers, Reply } from '../http/exchange.ts';
import { openApiDocument } from './document.ts';
import { docsPage } from './page.ts';

type DocumentId = 'openapi' | 'docs' | 'demo';

/** A process has one configuration; tests have several. */
const made = new WeakMap<Config, Map<string, Promise<Publication>>>();

/** A document, by the id of its endpoint. Each is made on its first request and kept. */
export function publication(id: string, config: Config): Promise<Publication> {
  const all = made.get(config) ?? new Map<string, Promise<Publication>>();
  made.set(config, all);
  const document = all.get(id) ?? makers[id as DocumentId](config);
  all.set(id, document);
  return document;
}

const page = 'text/html; charset=utf-8';

const makers: Readonly<Record<DocumentId, (config: Config) => Promise<Publication>>> = {
  openapi: (config) => Publication.of('application/json', JSON.stringify(openApiDocument(config))),
  docs: async (config) => {
    const { html, policy } = docsPage(openApiDocument(config));
    return Publication.of(page, html, [
      ['Content-Security-Policy', policy],
      ['Referrer-Policy', 'no-referrer'],
    ]);
  },
  demo: async (config) => {
    const { html, headers } = demoPage(config);
    return Publication.of(page, html, headers);
  },
};

/** A document that does not change while the server runs: as it is, and by gzip, each with an ETag of its own. */
export class Publication {
  readonly #plain: Form;
  readonly #packed: Form;

  private constructor(plain: Form, packed: Form) {
    this.#plain = plain;
    this.#packed = packed;
  }

  static async of(content_type: string, text: string, headers: Headers = []): Promise<Publication> {
    const body = Buffer.from(text);
    const all: Headers = [['Content-Type', content_type], ['X-Content-Type-Options', 'nosniff'], ...headers];
    // On a thread of its own: the API's page has 4 MB.
    const packed = await promisify(gzip)(body);
    return new Publication(formOf(body, all), formOf(packed, [...all, ['Content-Encoding', 'gzip']]));
  }

  /** 304 when the client already has it (RFC 9110 section 13.1.2), with the headers of section 15.4.5. */
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

interface Form {
  body: Buffer;
  etag: string;
  headers: Headers;
}

const formOf = (body: Buffer, headers: Headers): Form => ({
  body,
  etag: `"${createHash('sha256').update(body).digest('base64url')}"`,
  headers,
});

/** RFC 9110 section 12.5.3, but for `*`: what is not named is not sent. */
function takesGzip(accept_encoding = ''): boolean {
  return /(?:^|,)\s*gzip\s*(?:$|,|;\s*q=(?!0(?:\.0*)?\s*(?:$|,)))/i.test(accept_encoding);
}

/** Weak comparison (section 8.8.3.2). Splitting at commas is safe, because our ETags contain none. */
function isNamed(etag: string, if_none_match = ''): boolean {
  const named = if_none_match.split(',').map((name) => name.trim().replace(/^W\//, ''));
  return named.includes(etag) || named[0] === '*';
}
