import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { readRegular, UnusableFile, withoutByteOrderMark } from '../config/file.ts';

/** Paths of two PEM files: the certificate followed by its issuers, and the private key. */
export interface CertificateFiles {
  cert: string;
  key: string;
}

export interface Certificate {
  files: CertificateFiles;
  /** Expiry in seconds since 1970. */
  not_after_s: number;
  /** Warnings for the operator about a certificate that can be used. They contain no paths. */
  warnings: readonly string[];
}

const certFile = 'FACEMATCH_TLS_CERT: the file';
const keyFile = 'FACEMATCH_TLS_KEY: the file';

/** Returns absolute paths; undefined without TLS. */
export function certificateFiles(cert: string, key: string): CertificateFiles | undefined {
  return cert === '' || key === '' ? undefined : { cert: resolve(cert), key: resolve(key) };
}

/** Reads both files and checks that the key belongs to the certificate. Throws UnusableFile. */
export function readCertificate(files: CertificateFiles, now_ms: number): Certificate {
  const certText = readText(certFile, files.cert);
  const keyText = readText(keyFile, files.key);
  const [leaf, ...signers] = certificatesOf(files.cert, certText);
  const key = keyOf(files.key, keyText);
  if (!leaf!.checkPrivateKey(key)) {
    const [what, fix] = signers.some((one) => one.checkPrivateKey(key))
      ? [
          'belongs to a certificate that is not the first in its file',
          'Put the certificate of the server first, followed by the certificates of its issuers.',
        ]
      : ['has the key of another certificate', 'Use the key that belongs to this certificate.'];
    throw new UnusableFile(keyFile, files.key, what, fix);
  }
  return {
    files,
    not_after_s: Date.parse(leaf!.validTo) / 1000,
    warnings: warningsOf(leaf!, files.key, now_ms),
  };
}

function readText(what: string, file: string): string {
  const { text } = readRegular(what, file, 'Correct the path.');
  if (text === withoutByteOrderMark(text)) return text;
  // µWS reads the file itself, and does not find the first block after a byte order mark.
  const fix = 'Remove the first three bytes, or save the file as UTF-8 without a byte order mark.';
  throw new UnusableFile(what, file, 'begins with a byte order mark', fix);
}

const pemCertificate = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Returns the certificates in a file, at least one. Throws UnusableFile. */
function certificatesOf(file: string, text: string): X509Certificate[] {
  const fault = (what: string) => {
    const fix = 'Use a PEM file with -----BEGIN CERTIFICATE-----, such as fullchain.pem of certbot.';
    return new UnusableFile(certFile, file, what, fix);
  };
  const blocks = text.match(pemCertificate) ?? [];
  if (blocks.length === 0) throw fault('has no certificate in PEM format');
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    throw fault('has a damaged certificate');
  }
}

/** Node's names of the key types that µWS (BoringSSL) accepts. */
const keyTypes: readonly (string | undefined)[] = ['rsa', 'ec', 'ed25519'];
const curves: readonly (string | undefined)[] = ['prime256v1', 'secp384r1', 'secp521r1'];

function keyOf(file: string, text: string): KeyObject {
  const fault = (what: string, fix: string) => new UnusableFile(keyFile, file, what, fix);
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    throw fault('has no private key in PEM format', 'Use privkey.pem of certbot or tls.key of Kubernetes.');
  }
  if (/-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(text)) {
    throw fault('is encrypted', 'Decrypt it (openssl pkey), and make it readable only by its owner.');
  }
  let key: KeyObject;
  try {
    key = createPrivateKey(text);
  } catch {
    throw fault('has a damaged private key', 'Restore it, or create a new key.');
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (!keyTypes.includes(type) || (type === 'ec' && !curves.includes(details?.namedCurve))) {
    throw fault(
      `has a key of an unsupported type (${details?.namedCurve ?? type})`,
      'Use RSA, P-256, P-384, P-521 or Ed25519.',
    );
  }
  return key;
}

function warningsOf({ validFrom, validTo }: X509Certificate, key: string, now_ms: number): string[] {
  const warnings: string[] = [];
  const [start, end] = [new Date(validFrom), new Date(validTo)];
  if (now_ms >= end.getTime()) warnings.push(`the TLS certificate expired at ${end.toISOString()}`);
  else if (now_ms < start.getTime()) {
    warnings.push(`the TLS certificate is not valid before ${start.toISOString()}`);
  }
  // Only a warning, because Kubernetes mounts secrets as files that every user of the container may read.
  const isOpen = process.platform !== 'win32' && (statSync(key).mode & 0o007) !== 0;
  if (isOpen) warnings.push('the TLS key is accessible to other users');
  return warnings;
}
