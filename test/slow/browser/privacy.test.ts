import { describe, expect, test } from 'vitest';
import { demoPath } from './support/demo-page.ts';
import { chromiumFile, Session } from './support/session.ts';

/** Tests that the key and the photos are sent only to this server, and are not stored. */

describe.skipIf(chromiumFile === undefined)('the page', () => {
  const session = new Session();

  test('stores nothing: no storage, no cookie, no history, no key in a URL', async () => {
    const demo = await session.openWithPhotos();
    await demo.compare();
    const kept = await demo.page.evaluate(async () => {
      const stores = [localStorage, sessionStorage, await indexedDB.databases(), await caches.keys()];
      const workers = await navigator.serviceWorker.getRegistrations();
      return { stored: stores.map(({ length }) => length), workers: workers.length, state: history.state };
    });
    expect(kept).toEqual({ stored: [0, 0, 0, 0], workers: 0, state: null });
    // One entry is the blank page with which the window started.
    expect(await demo.page.evaluate(() => history.length)).toBe(2);
    expect(await demo.page.context().cookies()).toEqual([]);
    const { key } = session.server;
    expect(demo.page.url()).toBe(session.server.url(demoPath));
    expect(demo.requestUrls.filter((requested) => requested.includes(key))).toEqual([]);
    expect(await demo.page.content()).not.toContain(key);
    expect(await demo.curl.textContent()).toContain('$FACEMATCH_KEY');
    await demo.page.reload();
    expect(await demo.key.inputValue()).toBe('');
  });

  test('shows the key only on request', async () => {
    const demo = await session.open();
    const show = demo.page.getByRole('button', { name: 'Show key' });
    expect(await demo.key.getAttribute('type')).toBe('password');
    await show.click();
    expect(await demo.key.getAttribute('type')).toBe('text');
    expect(await show.getAttribute('aria-pressed')).toBe('true');
    await show.click();
    expect(await demo.key.getAttribute('type')).toBe('password');
  });

  test('loads with one request, except for sample photos, and sends one for each comparison', async () => {
    const demo = await session.openWithPhotos();
    await demo.compare();
    const sent = demo.requestUrls.filter((requested) => !/^(?:blob|data):|\?sample=[12]$/.test(requested));
    expect(sent).toEqual([demoPath, '/API/v1.0/face/match/upload'].map((path) => session.server.url(path)));
  });

  test('loads at most 60 kB without the sample photos', async () => {
    const demo = await session.open();
    const { ready_ms, received } = await demo.page.evaluate(() => {
      const [page] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
      const all = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
      const others = all.filter(({ name }) => !name.includes('?sample='));
      return {
        // Module scripts have run at this time.
        ready_ms: Math.round(page!.domContentLoadedEventEnd),
        received: others.reduce((sum, { transferSize }) => sum + transferSize, page!.transferSize),
      };
    });
    // docs/research/benchmarks.md states these figures.
    console.log({ received, ready_ms });
    expect(received).toBeGreaterThan(10_000);
    expect(received).toBeLessThanOrEqual(60_000);
  });

  /** Checks that the browser applies the policy; test/server/docs.test.ts checks its text. */
  test('sends nothing to other origins', async () => {
    const demo = await session.open();
    const violated = demo.page.waitForEvent('console', (message) => message.text().startsWith('policy: '));
    const sent = demo.page.evaluate(() => fetch('http://127.0.0.1:1/'));
    await expect(sent).rejects.toThrow('Failed to fetch');
    expect((await violated).text()).toContain('connect-src');
    demo.forgive();
  });
});
