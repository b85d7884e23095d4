import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { UnusableFile } from '../../src/config/file.ts';
import { loadUws } from '../../src/http/uws/uws.ts';
import { certificateFiles, readCertificate } from '../../src/server/certificate.ts';
import { chooseTransport } from '../../src/server/listeners.ts';
import { encryptKey, hasOpenssl, keyKinds, makePair, type Pair } from '../fixtures/credentials.ts';
import { namedPipe, newFolder } from '../support/folder.ts';

let folder: string;
let pair: Pair;
let other: Pair;
beforeAll(() => {
  folder = newFolder();
  if (!hasOpenssl) return;
  pair = makePair(folder, 'one');
  other = makePair(folder, 'two');
});

const now = () => Date.now();
const day_ms = 86_400_000;
const file = (name: string, content: string) => {
  const path = join(folder, name);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
};
const contentOf = (path: string) => readFileSync(path, 'utf8');

function rejection(files: Pair): UnusableFile {
  try {
    readCertificate(files, now());
  } catch (error) {
    if (error instanceof UnusableFile) return error;
    throw error;
  }
  throw new Error('The files were accepted');
}

test('makes the certificate paths absolute, and returns undefined for empty ones', () => {
  expect(certificateFiles('a.pem', '/b.pem')).toEqual({ cert: join(process.cwd(), 'a.pem'), key: '/b.pem' });
  expect(certificateFiles('', '')).toBeUndefined();
});

describe.skipIf(!hasOpenssl)('readCertificate', () => {
  test.each([
    ['valid', 0, []],
    ['expired', 31, [expect.stringMatching(/^the TLS certificate expired at 20.*Z$/)]],
    ['not yet valid', -1, [expect.stringMatching(/^the TLS certificate is not valid before 20/)]],
  ])('returns the expiry, and a warning outside the validity period: %s', (_what, days, expected) => {
    const { not_after_s, warnings } = readCertificate(pair, now() + days * day_ms);
    expect(Math.round((not_after_s * 1000 - now()) / day_ms)).toBe(30);
    expect(warnings).toEqual(expected);
  });

  test('returns a warning if every user may read the key', () => {
    const key = file('open.key', contentOf(pair.key));
    chmodSync(key, 0o644);
    const { warnings } = readCertificate({ cert: pair.cert, key }, now());
    expect(warnings).toEqual(['the TLS key is accessible to other users']);
  });

  test('accepts further certificates after the first one', () => {
    const cert = file('chain.crt', contentOf(pair.cert) + contentOf(other.cert));
    expect(readCertificate({ cert, key: pair.key }, now()).not_after_s).toBeGreaterThan(0);
  });

  // µWS must accept the same keys. Without µWS, only the list below is checked.
  const uwsLoads = chooseTransport('auto').name === 'uws';
  test.each(Object.keys(keyKinds) as (keyof typeof keyKinds)[])(
    'accepts a key only if µWS does: %s',
    (kind) => {
      const files = makePair(folder, kind.replaceAll(' ', '-'), kind);
      const verdict = (judge: () => unknown) => {
        try {
          return judge() !== undefined;
        } catch {
          return false;
        }
      };
      const ours = verdict(() => readCertificate(files, now()));
      const named = { cert_file_name: files.cert, key_file_name: files.key };
      const app = () => loadUws().SSLApp({ ...named, ssl_ciphers: 'ECDHE+AESGCM' });
      if (uwsLoads) expect(ours).toBe(verdict(app));
      expect(ours).toBe(!['secp256k1', 'RSA-PSS'].includes(kind));
      if (!ours)
        expect(rejection(files).message).toMatch(/^FACEMATCH_TLS_KEY: .+ has a key of an unsupported type/);
    },
  );
});

describe.skipIf(!hasOpenssl)('readCertificate, with unusable files', () => {
  const changed = (part: keyof Pair, change: (content: string) => string): Pair => {
    return { ...pair, [part]: file(`changed-${part}.pem`, change(contentOf(pair[part]))) };
  };
  const damage = (content: string) => content.replace(/\n\w{20}/, `\n${'A'.repeat(20)}`);
  const behind = (content: string) => contentOf(other.cert) + content;

  test.each<[what: string, files: () => Pair, reason: RegExp]>([
    ['a missing key file', () => ({ ...pair, key: join(folder, 'nowhere') }), /KEY does not exist/],
    [
      'certificate and key exchanged',
      () => ({ cert: pair.key, key: pair.cert }),
      /CERT has no certificate in PEM/,
    ],
    ['half a certificate', () => changed('cert', (all) => all.slice(0, 300)), /CERT has no certificate/],
    [
      'a key after a byte order mark',
      () => changed('key', (all) => `\ufeff${all}`),
      /KEY begins with a byte/,
    ],
    ['a named pipe', () => ({ ...pair, cert: namedPipe(folder) }), /CERT is not a regular file/],
    ['a damaged key', () => changed('key', damage), /KEY has a damaged private key/],
    ['an encrypted key', () => ({ ...pair, key: encryptKey(pair, `${folder}/x.key`) }), /KEY is encrypted/],
    [
      'the key of another certificate',
      () => ({ ...pair, key: other.key }),
      /KEY has the key of another certificate/,
    ],
    [
      'a certificate after its signer',
      () => changed('cert', behind),
      /KEY belongs to .* not the first in it/,
    ],
  ])('throws an error with the path and the fix: %s', (_what, files, reason) => {
    const error = rejection(files());
    expect(error.message.replace(/: the file \S+/, '')).toMatch(reason);
    expect(error.message).toMatch(/^FACEMATCH_TLS_(CERT|KEY): the file .+\. .+\.$/);
    expect(error.message).toContain(folder);
    expect(error.message).not.toMatch(/PRIVATE KEY-----.{20}/s);
  });
});
