import type { Stats } from 'node:fs';
import { UnusableFile } from '../config/file.ts';
import { minSecret_characters, type Secrets, secretsOf } from './challenges.ts';
import { FileFollower } from './file-follower.ts';
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
  readonly #follower: FileFollower;
  #current: readonly Buffer[];

  /** Throws UnusableFile if the file is missing, accessible to other users, or has no valid list of secrets. */
  constructor(file: string, log: Log, interval_ms = 1000) {
    const { secrets, stats } = read(file);
    this.#current = secrets;
    this.#follower = new FileFollower({
      file,
      loaded: stats,
      interval_ms,
      reload: () => {
        const { secrets, stats } = read(file);
        this.#current = secrets;
        log.info({ secrets: secrets.length }, 'the challenge secrets were reloaded');
        return stats;
      },
      onFailure: (reason) =>
        log.warn({ reason }, 'failed to reload the challenge secrets; using the previous ones'),
    });
  }

  get current(): readonly Buffer[] {
    return this.#current;
  }

  close(): void {
    this.#follower.close();
  }
}

/** Throws UnusableFile. */
function read(file: string): { secrets: Buffer[]; stats: Stats } {
  const { text, stats } = readPrivate(file, what, howToCreate);
  const secrets = secretsOf(text);
  if (secrets === undefined) {
    const reason = `does not have 1 to 8 lines of at least ${minSecret_characters} characters`;
    throw new UnusableFile(what, file, reason, howToCreate);
  }
  return { secrets, stats };
}
