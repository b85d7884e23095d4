import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasOpenssl, makePair, overwrite } from '../fixtures/certificates.ts';
import { samples } from '../server/support/pictures.ts';
import { startTls } from '../server/support/tls.ts';
import { chromiumFile, Session } from './support/session.ts';

/** A browser against a server that speaks TLS by itself. The certificate is one that no browser knows, and it is told so. */

describe.skipIf(chromiumFile === undefined || !hasOpenssl)('the demo page over TLS', () => {
  const session = new Session({ until: 'listening' });
  let tls: Awaited<ReturnType<typeof startTls>>;
  beforeAll(async () => {
    tls = await startTls();
  });
  afterAll(() => tls.server.stop());

  test('compares, and goes on when the certificate is renewed', async () => {
    const { server, pair } = tls;
    const demo = await session.open({ server, key: server.key, ignoreHTTPSErrors: true });
    await demo.givePhotos(samples.one, samples.three);
    expect(await demo.compare()).toMatchObject({ match: true });
    const protocol = await demo.page.evaluate(() => {
      const [entry] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
      return entry!.nextHopProtocol;
    });
    expect(protocol).toBe('http/1.1');
    overwrite(pair, makePair(server.home.folder, 'two'));
    await server.line(server.stderr, /"the TLS certificate was renewed"/);
    expect(await demo.compare()).toMatchObject({ match: true });
    expect(await demo.page.evaluate(() => window.isSecureContext)).toBe(true);
  });
});
