import { FileWatch, type FileWatchOptions } from '../gate/file-watch.ts';
import { type Certificate, CertificateError, type CertificateFiles, readCertificate } from './certificate.ts';

export interface CertificateWatchOptions extends FileWatchOptions {
  /** Whoever renews a certificate writes two files, one after the other: how long the second may take. */
  pair_ms: number;
}

export interface CertificateLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

const defaults: CertificateWatchOptions = { poll_ms: 5_000, settle_ms: 50, pair_ms: 1_000 };

/** Follows the two files of a certificate, and has each new pair that fits together taken over. */
export class CertificateWatch {
  readonly #files: CertificateFiles;
  readonly #log: CertificateLog;
  readonly #options: CertificateWatchOptions;
  readonly #watches: readonly FileWatch[];
  #current: Certificate;
  /** Takes the files over; rejects when it cannot. */
  #renew: () => Promise<void> = async () => {};
  #waiting: NodeJS.Timeout | undefined;
  #busy = Promise.resolve();
  #closed = false;

  /** Reads the files and follows their changes. Throws CertificateError. */
  static open(
    files: CertificateFiles,
    log: CertificateLog,
    options: CertificateWatchOptions = defaults,
  ): CertificateWatch {
    return new CertificateWatch(files, log, options);
  }

  private constructor(files: CertificateFiles, log: CertificateLog, options: CertificateWatchOptions) {
    this.#files = files;
    this.#log = log;
    this.#options = options;
    // Watched before they are read: a change in between is then seen as one.
    this.#watches = [files.cert, files.key].map(
      (file) => new FileWatch(file, options, () => this.#changed()),
    );
    try {
      this.#current = readCertificate(files, Date.now());
    } catch (error) {
      this.close();
      throw error;
    }
    this.#warn(this.#current);
  }

  /** Of the certificate in force, in seconds since 1970. */
  get not_after_s(): number {
    return this.#current.not_after_s;
  }

  /** `renew` is called for each new pair, never twice at once; what it rejects with is logged, and the old pair stays. */
  onRenew(renew: () => Promise<void>): void {
    this.#renew = renew;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#waiting);
    for (const watch of this.#watches) watch.close();
  }

  #changed(): void {
    this.#waiting ??= setTimeout(() => {
      this.#waiting = undefined;
      this.#busy = this.#busy.then(() => this.#takeOver());
    }, this.#options.pair_ms).unref();
  }

  /** Never rejects. */
  async #takeOver(): Promise<void> {
    try {
      if (this.#closed) return;
      const next = readCertificate(this.#files, Date.now());
      if (next.fingerprint === this.#current.fingerprint) return;
      await this.#renew();
      this.#current = next;
      this.#log.info({ not_after: isoTime(next) }, 'the TLS certificate was renewed');
      this.#warn(next);
    } catch (error) {
      const reason = error instanceof CertificateError ? error.reason : (error as Error).message;
      this.#log.warn({ reason }, 'the TLS certificate was not taken over; the one before stays in force');
    }
  }

  #warn({ warnings }: Certificate): void {
    for (const warning of warnings) this.#log.warn({}, warning);
  }
}

function isoTime({ not_after_s }: Certificate): string {
  return new Date(not_after_s * 1000).toISOString();
}
