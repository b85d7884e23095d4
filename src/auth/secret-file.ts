import { stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { UnusableFile } from '../config/file.ts';
import { minSecret_characters, type Secrets, secretsOf } from './challenges.ts';
import { readPrivate } from './key-file.ts';

const what = 'The challenge secret file';
const howToCreate = 'Create one with: (umask 077; openssl rand -base64 48 > challenge-secrets.txt)';

/** Log that reports changes of the file. */
interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** The secrets in a file, from its last readable version. */
export class SecretFile implements Secrets {
  readonly #file: string;
  readonly #log: Log;
  #current: readonly Buffer[];
  #closed = false;

  /** Throws UnusableFile if the file is missing, accessible to other users, or has no valid list of secrets. */
  constructor(file: string, log: Log, interval_ms = 1000) {
    this.#file = file;
    this.#log = log;
    const { secrets, state } = read(file);
    this.#current = secrets;
    void this.#follow(state, interval_ms);
  }

  get current(): readonly Buffer[] {
    return this.#current;
  }

  close(): void {
    this.#closed = true;
  }

  /** Polls the file, because network mounts and replaced links send no file events. */
  async #follow(loaded: string, interval_ms: number): Promise<void> {
    let tried = loaded;
    let seen = loaded;
    for (;;) {
      await pause(interval_ms, undefined, { ref: false });
      const now = await stat(this.#file).then(stateOf, ({ code = 'missing' }) => code);
      if (this.#closed) return;
      // Two polls must see the same state, so that the writer has finished.
      const isStable = now === seen;
      seen = now;
      if (!isStable || now === tried) continue;
      tried = now;
      this.#reload();
    }
  }

  #reload(): void {
    try {
      const { secrets } = read(this.#file);
      this.#current = secrets;
      this.#log.info({ secrets: secrets.length }, 'the challenge secrets were reloaded');
    } catch (error) {
      const reason = error instanceof UnusableFile ? error.reason : 'cannot be read';
      this.#log.warn({ reason }, 'failed to reload the challenge secrets; using the previous ones');
    }
  }
}

interface FileState {
  dev: number;
  ino: number;
  size: number;
  ctimeMs: number;
}

const stateOf = ({ dev, ino, size, ctimeMs }: FileState) => [dev, ino, size, ctimeMs].join(':');

/** Throws UnusableFile. */
function read(file: string): { secrets: Buffer[]; state: string } {
  const { text, stats } = readPrivate(file, what, howToCreate);
  const secrets = secretsOf(text);
  if (secrets === undefined) {
    const reason = `does not have 1 to 8 lines of at least ${minSecret_characters} characters`;
    throw new UnusableFile(what, file, reason, howToCreate);
  }
  return { secrets, state: stateOf(stats) };
}
