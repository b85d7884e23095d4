import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { samples } from '../config/samples.ts';
import { demoPage } from '../demo/page.ts';
import type { Headers, Reply } from '../http/exchange.ts';
import { openApiDocument } from './document.ts';
import { docsPage } from './page.ts';

type DocumentId = 'openapi' | 'docs' | 'demo';

/** A process has one configuration; tests have several. */
const made = new WeakMap<Config, Map<string, Publication>>();

/**
 * A document, by the id of its endpoint and the request's query, which only the demo reads: with `sample=1` or `sample=2` it is a
 * sample photo. Documents are made on their first request and kept; a photo is read again.
 */
export function publication(id: string, config: Config, query = ''): Publication {
  const sample = id === 'demo' ? samples[['sample=1', 'sample=2'].indexOf(query)] : undefined;
  if (sample !== undefined && existsSync(sample)) return new Publication('image/jpeg', readFileSync(sample));
  const all = made.get(config) ?? new Map<string, Publication>();
  made.set(config, all);
  const document = all.get(id) ?? makers[id as DocumentId](config);
  all.set(id, document);
  return document;
}

const page = 'text/html; charset=utf-8';

const makers: Readonly<Record<DocumentId, (config: Config) => Publication>> = {
  openapi: (config) => new Publication('application/json', JSON.stringify(openApiDocument(config))),
  docs(config) {
    const { html, policy } = docsPage(openApiDocument(config));
    return new Publication(page, html, [
      ['Content-Security-Policy', policy],
      ['Referrer-Policy', 'no-referrer'],
    ]);
  },
  demo(config) {
    const { html, headers } = demoPage(config);
    return new Publication(page, html, headers);
  },
};

/** A document that does not change while the server runs, with its ETag. */
export class Publication {
  readonly #body: Buffer;
  readonly #own: Headers;
  readonly #headers: Headers;
  readonly #etag: string;

  constructor(content_type: string, body: string | Buffer, headers: Headers = []) {
    this.#body = Buffer.from(body);
    this.#etag = `"${createHash('sha256').update(this.#body).digest('base64url')}"`;
    this.#own = [['ETag', this.#etag]];
    this.#headers = [
      ...this.#own,
      ['Content-Type', content_type],
      ['X-Content-Type-Options', 'nosniff'],
      ...headers,
    ];
  }

  /** 304 when the client already has it (RFC 9110 section 13.1.2), with the headers of section 15.4.5. */
  reply(if_none_match: string | undefined): Reply {
    return this.#isNamed(if_none_match)
      ? { status: 304, headers: this.#own, body: '' }
      : { status: 200, headers: this.#headers, body: this.#body };
  }

  /** Weak comparison (section 8.8.3.2). Splitting at commas is safe, because our ETags contain none. */
  #isNamed(if_none_match: string | undefined): boolean {
    const named = (if_none_match ?? '').split(',').map((name) => name.trim().replace(/^W\//, ''));
    return named.includes(this.#etag) || named[0] === '*';
  }
}
