import { fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { hasOpenssl, makePair, overwrite, type Pair } from '../../fixtures/certificates.ts';
import { getHead, photoRequest, RawClient } from '../../server/support/client.ts';
import type { TestServer } from '../../server/support/server.ts';
import { connectTls, nameAt, rawTls, startTls } from '../../server/support/tls.ts';
import { newFolder } from '../../support/folder.ts';

/** The certificate is replaced while the server runs. */

const renewed = (server: TestServer, times: number) =>
  server.line(server.stderr, /"the TLS certificate was renewed"/, times);
const refused = (server: TestServer, reason: RegExp) =>
  server.line(server.stderr, new RegExp(`"reason":"${reason.source}.*was not taken over`));

describe.skipIf(!hasOpenssl)('a certificate that changes', () => {
  let server: TestServer;
  let pair: Pair;
  let two: Pair;
  beforeAll(async () => {
    ({ server, pair } = await startTls());
    two = makePair(server.home.folder, 'two');
  });
  afterAll(() => server.stop());

  test('is what new connections get, while an upload and a kept connection go on', async () => {
    const whole = photoRequest(server);
    const kept = await rawTls(server.port);
    kept.write(getHead(server));
    expect((await kept.answer()).status).toBe(200);
    const uploading = await rawTls(server.port);
    uploading.write(whole.subarray(0, 50_000));
    await server.metricBecomes('facematch_requests_unanswered', 1);

    expect(await nameAt(server.port)).toBe('one');
    overwrite(pair, two);
    await renewed(server, 1);
    expect(await nameAt(server.port)).toBe('two');
    expect(await nameAt(server.port, 'localhost')).toBe('two');

    uploading.write(whole.subarray(50_000));
    expect((await uploading.answer()).body).toMatchObject({ match: true });
    kept.write(whole);
    expect((await kept.answers(2))[1]!.body).toMatchObject({ match: true });
    kept.leave();
    uploading.leave();
  });

  test('into something broken stays the one before, says so in the log, and is taken when it is mended', async () => {
    writeFileSync(pair.cert, 'broken');
    await refused(server, /the file of FACEMATCH_TLS_CERT holds no certificate in PEM form/);
    expect(await nameAt(server.port)).toBe('two');
    rmSync(pair.key);
    await refused(server, /the file of FACEMATCH_TLS_CERT holds no certificate/);
    overwrite(pair, makePair(server.home.folder, 'three'));
    await renewed(server, 2);
    expect(await nameAt(server.port)).toBe('three');
    expect(server.stderr.join('\n')).not.toContain(dirname(pair.cert));
  });
});

// As Kubernetes swaps a folder is in test/unit/key-store.test.ts: key files are followed in the same way.
test.skipIf(!hasOpenssl)(
  'files behind links, as certbot makes them anew one after the other, are followed; the end closes the connections of both certificates and frees the port',
  async () => {
    const folder = newFolder();
    const files = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
    const link = (version: string) => {
      const made = makePair(folder, version);
      for (const part of ['key', 'cert'] as const) {
        rmSync(files[part], { force: true });
        symlinkSync(made[part], files[part]);
      }
    };
    link('one');
    const { server } = await startTls({}, files);
    const old = await rawTls(server.port);
    old.write(getHead(server));
    await old.answer();
    link('two');
    await renewed(server, 1);
    expect(await nameAt(server.port)).toBe('two');
    const young = await rawTls(server.port);
    server.child.kill('SIGTERM');
    expect(await server.ended).toEqual({ code: 0, signal: null });
    await Promise.all([old.closed, young.closed]);
    const nobody = new RawClient(server.port);
    await nobody.closed;
    expect(nobody.text).toBe('');
  },
);

const renewals = 60;
/** More than what µWS keeps of each certificate that it ever had: some 80 KiB. */
const kept_bytes = 256 * 1024;

test.skipIf(!hasOpenssl)(
  'many renewals under load lose no connection, serve both certificates, and keep little memory',
  async () => {
    const folder = newFolder();
    for (const name of ['one', 'two']) makePair(folder, name);
    const file = projectPath('test/server/support/tls-swaps.mjs');
    const child = fork(file, [folder], { execArgv: ['--expose-gc'] });
    onTestFinished(() => void child.kill());
    const said = async () => (await once(child, 'message'))[0] as { port: number; grown: number };
    const { port } = await said();
    const ended = once(child, 'exit');

    let over = false;
    const seen = new Map<string, number>();
    const ask = async () => {
      const socket = await connectTls(port);
      const name = String(socket.getPeerCertificate().subject.CN);
      const client = new RawClient(socket);
      client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
      expect((await client.answer()).status).toBe(200);
      socket.destroy();
      seen.set(name, (seen.get(name) ?? 0) + 1);
    };
    const load = Array.from({ length: 12 }, async () => {
      while (!over) await ask();
    });
    // The first renewals fill pools and caches.
    child.send({ times: 20 });
    await said();
    // What is kept of each certificate grows every time; the heap of node:http, by some 25 MB, once in a while.
    let grown = Number.POSITIVE_INFINITY;
    for (let turn = 0; turn < 4 && grown >= renewals * kept_bytes; turn++) {
      child.send({ times: renewals });
      ({ grown } = await said());
    }
    over = true;
    await Promise.all(load);
    child.send({ times: 0 });
    expect(await ended).toEqual([0, null]);

    expect([...seen.keys()].sort()).toEqual(['one', 'two']);
    expect(Math.min(...seen.values())).toBeGreaterThan(renewals / 2);
    expect(grown).toBeLessThan(renewals * kept_bytes);
    process.stderr.write(
      `${JSON.stringify(Object.fromEntries(seen))} connections, ${Math.round(grown / renewals / 1024)} KiB a renewal\n`,
    );
  },
);
