/**
 * Where a Redis is and how to log in. The password is private to it: whatever prints, serialises or compares a
 * configuration sees `***` in its place.
 */
export class RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly db: number;
  readonly tls: boolean;
  /** undefined for the default user. */
  readonly username: string | undefined;
  readonly #password: string | undefined;

  private constructor(parts: Parts) {
    this.host = parts.host;
    this.port = parts.port;
    this.db = parts.db;
    this.tls = parts.tls;
    this.username = parts.username;
    this.#password = parts.password;
  }

  /** `redis://[[user]:password@]host[:port][/db]`, `rediss://` for TLS. Undefined when `text` is not of this form. */
  static parse(text: string): RedisAddress | undefined {
    const parts = partsOf(text);
    return parts === undefined ? undefined : new RedisAddress(parts);
  }

  /** undefined when there is none to be sent. */
  get password(): string | undefined {
    return this.#password;
  }

  /** As it may be shown: with `***` for the password. */
  toString(): string {
    const login = this.#password === undefined ? '' : `${encodeURIComponent(this.username ?? '')}:***@`;
    const host = this.host.includes(':') ? `[${this.host}]` : this.host;
    return `redis${this.tls ? 's' : ''}://${login}${host}:${this.port}/${this.db}`;
  }

  toJSON(): string {
    return this.toString();
  }
}

interface Parts {
  host: string;
  port: number;
  db: number;
  tls: boolean;
  username: string | undefined;
  password: string | undefined;
}

const defaultPort = 6379;
const schemes: Readonly<Record<string, boolean>> = { 'redis:': false, 'rediss:': true };

function partsOf(text: string): Parts | undefined {
  // URL takes blanks around it, and line breaks within.
  if (/[\s\0]/.test(text) || !URL.canParse(text)) return undefined;
  const { protocol, hostname, port, pathname, search, hash, username, password } = new URL(text);
  const tls = schemes[protocol];
  const [, db = '0'] = /^\/(\d{1,5})$/.exec(pathname) ?? [];
  const known = ['', '/', `/${db}`].includes(pathname) && search === '' && hash === '';
  // A user without a password cannot log in; port 0 is none.
  if (
    tls === undefined ||
    hostname === '' ||
    port === '0' ||
    !known ||
    (username !== '' && password === '')
  ) {
    return undefined;
  }
  try {
    return {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || defaultPort),
      db: Number(db),
      tls,
      username: decodeURIComponent(username) || undefined,
      password: decodeURIComponent(password) || undefined,
    };
  } catch {
    // A percent sign that starts no code.
    return undefined;
  }
}
