// Does the image speak TLS, and take a new certificate over while it runs?
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { Container } from './container.mjs';
import { Secret } from './secret.mjs';

/** Longer than the server waits for the second file of a pair, and for file systems that report nothing. */
const patience_ms = 60_000;

/** `visit(container, env)` answers "status match". { what, found, limit, ok } of each claim. */
export async function tls(image, { folder, visit }) {
  const place = join(folder, 'tls');
  mkdirSync(place, { recursive: true });
  const secret = new Secret(place, image);
  const key = await secret.addKey();
  const [{ source }] = secret.binds;
  const served = join(source, 'tls.crt');
  certify(source, image.config.user.gid);
  const env = {
    ...image.config.env,
    FACEMATCH_TLS_CERT: '/etc/facematch/tls.crt',
    FACEMATCH_TLS_KEY: '/etc/facematch/tls.key',
  };
  const container = new Container({ ...image, config: { ...image.config, env } }, { binds: secret.binds });
  await container.ready();
  const match = () =>
    visit(container, { KEY: key, URL: 'https://127.0.0.1:8080', NODE_EXTRA_CA_CERTS: served });
  const first = await match();
  certify(source, image.config.user.gid);
  const until = performance.now() + patience_ms;
  let renewed = 'never';
  // Whoever trusts the new certificate alone gets no answer before it is served.
  while (renewed !== first && performance.now() < until) renewed = await match().catch(() => 'never');
  container.signal(image.config.signal);
  await container.ended;
  const limit = '200 true';
  return [
    { what: 'a match over TLS', found: first, limit, ok: first === limit },
    {
      what: 'the same by a certificate that came while it ran',
      found: renewed,
      limit,
      ok: renewed === limit,
    },
  ];
}

/** A certificate that signs itself, in the place of the one before; readable by the group, as fsGroup makes it. */
function certify(folder, gid) {
  const files = ['tls.key', 'tls.crt'].map((name) => join(folder, name));
  const [key, cert] = files.map((file) => `${file}.new`);
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', '-x509', ...kind, ...subject, '-keyout', key, '-out', cert], {
    stdio: 'pipe',
  });
  for (const file of files) {
    chownSync(`${file}.new`, 0, gid);
    chmodSync(`${file}.new`, 0o640);
    renameSync(`${file}.new`, file);
  }
}
