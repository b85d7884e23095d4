import { createHash } from 'node:crypto';
import type { Headers, Reply } from '../http/exchange.ts';

/** A document that is the same for everybody as long as the server runs: its bytes and its name, made once. */
export class Publication {
  readonly #body: Buffer;
  readonly #own: Headers;
  readonly #headers: Headers;
  readonly #etag: string;

  constructor(content_type: string, text: string, headers: Headers = []) {
    this.#body = Buffer.from(text);
    this.#etag = `"${createHash('sha256').update(this.#body).digest('base64url')}"`;
    this.#own = [['ETag', this.#etag]];
    this.#headers = [
      ...this.#own,
      ['Content-Type', content_type],
      ['X-Content-Type-Options', 'nosniff'],
      ...headers,
    ];
  }

  /** 304 when the client has it already (RFC 9110 section 13.1.2), with what section 15.4.5 asks for. */
  reply(if_none_match: string | undefined): Reply {
    return this.#isNamed(if_none_match)
      ? { status: 304, headers: this.#own, body: '' }
      : { status: 200, headers: this.#headers, body: this.#body };
  }

  /** Weak comparison (section 8.8.3.2). Our own names hold no comma, so no name that does can be ours. */
  #isNamed(if_none_match: string | undefined): boolean {
    const named = (if_none_match ?? '').split(',').map((name) => name.trim().replace(/^W\//, ''));
    return named.includes(this.#etag) || named[0] === '*';
  }
}
