import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';

/** Paths of two PEM files: the certificate with those that signed it, and its private key. */
export interface CertificateFiles {
  cert: string;
  key: string;
}

export interface Certificate {
  /** When its time is over, in seconds since 1970. */
  not_after_s: number;
  /** What an operator should know, though it can be used; no paths. */
  warnings: readonly string[];
  /** The same for the same two files' contents. */
  fingerprint: string;
}

/** Files that cannot be used. `reason` is for the log, where no path belongs; the message is for a person. */
export class CertificateError extends Error {
  readonly reason: string;

  constructor(file: string, { variable, reason, remedy }: Fault) {
    super(`${variable}: the file ${file} ${reason}. ${remedy}`);
    this.name = 'CertificateError';
    this.reason = `the file of ${variable} ${reason}`;
  }
}

type Variable = 'FACEMATCH_TLS_CERT' | 'FACEMATCH_TLS_KEY';

interface Fault {
  variable: Variable;
  reason: string;
  remedy: string;
}

const pemCertificate = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** With absolute paths; undefined where no TLS is wanted, when both are ''. */
export function certificateFiles(cert: string, key: string): CertificateFiles | undefined {
  return cert === '' || key === '' ? undefined : { cert: resolve(cert), key: resolve(key) };
}

/** Of Node's types of keys, what µWS (BoringSSL) takes. */
const keyTypes: readonly (string | undefined)[] = ['rsa', 'ec', 'ed25519'];
const curves: readonly (string | undefined)[] = ['prime256v1', 'secp384r1', 'secp521r1'];

/** Reads both files and holds them against each other. Throws CertificateError. */
export function readCertificate(files: CertificateFiles, now_ms: number): Certificate {
  const certText = readText(files.cert, 'FACEMATCH_TLS_CERT');
  const keyText = readText(files.key, 'FACEMATCH_TLS_KEY');
  const [leaf, ...signers] = certificatesOf(files.cert, certText);
  const key = keyOf(files.key, keyText);
  if (!leaf!.checkPrivateKey(key)) {
    const later = signers.some((one) => one.checkPrivateKey(key));
    throw new CertificateError(files.key, {
      variable: 'FACEMATCH_TLS_KEY',
      reason: later
        ? 'fits a certificate that is not the first of its file'
        : 'holds the key of another certificate',
      remedy: later
        ? 'Put the certificate of the server first, and those that signed it behind it.'
        : 'Give the two files that were made together.',
    });
  }
  return {
    not_after_s: Date.parse(leaf!.validTo) / 1000,
    warnings: [...datesOf(leaf!, now_ms), ...modeOf(files.key)],
    fingerprint: createHash('sha256').update(certText).update('\0').update(keyText).digest('hex'),
  };
}

function readText(file: string, variable: Variable): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new CertificateError(file, {
      variable,
      reason: code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`,
      remedy: code === 'ENOENT' ? 'Correct the path.' : 'Check who owns it and its folder.',
    });
  }
}

/** At least one. */
function certificatesOf(file: string, text: string): X509Certificate[] {
  const blocks = text.match(pemCertificate) ?? [];
  const fault = (reason: string) =>
    new CertificateError(file, {
      variable: 'FACEMATCH_TLS_CERT',
      reason,
      remedy: 'It must begin with -----BEGIN CERTIFICATE-----, as fullchain.pem of certbot does.',
    });
  if (blocks.length === 0) throw fault('holds no certificate in PEM form');
  return blocks.map((block) => {
    try {
      return new X509Certificate(block);
    } catch {
      throw fault('holds a damaged certificate');
    }
  });
}

function keyOf(file: string, text: string): KeyObject {
  const fault = (reason: string, remedy: string) =>
    new CertificateError(file, { variable: 'FACEMATCH_TLS_KEY', reason, remedy });
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    throw fault('holds no private key in PEM form', 'It is privkey.pem of certbot, tls.key of Kubernetes.');
  }
  if (/-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(text)) {
    throw fault('is encrypted', 'Decrypt it (openssl pkey), and let nobody else read it.');
  }
  const key = parsedKey(text);
  if (key === undefined) throw fault('holds a damaged private key', 'Restore it, or have a new one made.');
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (!keyTypes.includes(type) || (type === 'ec' && !curves.includes(details?.namedCurve))) {
    throw fault(
      `holds a key of a kind that is not taken (${details?.namedCurve ?? type})`,
      'Take RSA, P-256, P-384, P-521 or Ed25519.',
    );
  }
  return key;
}

function parsedKey(text: string): KeyObject | undefined {
  try {
    return createPrivateKey(text);
  } catch {
    return undefined;
  }
}

function datesOf({ validFrom, validTo }: X509Certificate, now_ms: number): string[] {
  const iso = (date: string) => new Date(date).toISOString();
  if (now_ms >= Date.parse(validTo)) return [`the TLS certificate expired at ${iso(validTo)}`];
  if (now_ms < Date.parse(validFrom)) return [`the TLS certificate is not valid before ${iso(validFrom)}`];
  return [];
}

/** Told, not refused: Kubernetes hands secrets to a container as files that everybody in it may read. */
function modeOf(key: string): string[] {
  const open = process.platform !== 'win32' && (statSync(key).mode & 0o007) !== 0;
  return open ? ['the TLS key is open to other users'] : [];
}
