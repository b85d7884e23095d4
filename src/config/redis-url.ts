const defaultPort = 6379;
const schemes: Readonly<Record<string, boolean>> = { 'redis:': false, 'rediss:': true };

/** URL of a Redis server and its credentials. Printing or serialising shows `***` instead of the password. */
export class RedisUrl {
  readonly host: string;
  readonly port: number;
  readonly db: number;
  readonly tls: boolean;
  /** undefined for the default user. */
  readonly username: string | undefined;
  readonly #password: string | undefined;

  /** Throws URIError for malformed percent-encoding. */
  private constructor(url: URL, tls: boolean) {
    this.host = url.hostname.replace(/^\[|\]$/g, '');
    this.port = Number(url.port || defaultPort);
    this.db = Number(url.pathname.slice(1));
    this.tls = tls;
    this.username = decodeURIComponent(url.username) || undefined;
    this.#password = decodeURIComponent(url.password) || undefined;
  }

  /**
   * Parses `redis://[[user]:password@]host[:port][/db]`; `rediss://` for TLS. Returns undefined if `text`
   * does not have this form.
   */
  static parse(text: string): RedisUrl | undefined {
    // URL would remove surrounding spaces, and line breaks inside.
    if (/[\s\0]/.test(text) || !URL.canParse(text)) return undefined;
    const url = new URL(text);
    const tls = schemes[url.protocol];
    const wrong =
      url.hostname === '' ||
      url.port === '0' ||
      !/^(?:\/(?:\d{1,5})?)?$/.test(url.pathname) ||
      url.search !== '' ||
      url.hash !== '' ||
      // A user without a password cannot log in.
      (url.username !== '' && url.password === '');
    if (tls === undefined || wrong) return undefined;
    try {
      return new RedisUrl(url, tls);
    } catch {
      return undefined;
    }
  }

  /** undefined if no password is needed. */
  get password(): string | undefined {
    return this.#password;
  }

  /** Safe to print: shows `***` instead of the password. */
  toString(): string {
    const login = this.#password === undefined ? '' : `${encodeURIComponent(this.username ?? '')}:***@`;
    const host = this.host.includes(':') ? `[${this.host}]` : this.host;
    return `redis${this.tls ? 's' : ''}://${login}${host}:${this.port}/${this.db}`;
  }

  toJSON(): string {
    return this.toString();
  }
}
