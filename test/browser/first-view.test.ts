import { describe, expect, test } from 'vitest';
import { chromiumFile, Session } from './support/session.ts';

/** What the first view costs. The bytes are a promise; the time is printed, and judged by who reads it. */

describe.skipIf(chromiumFile === undefined)('the first view', () => {
  const session = new Session({ until: 'listening' });

  test('takes 60 kB at most', async () => {
    const times: number[] = [];
    let bytes = 0;
    for (let i = 0; i < 5; i++) {
      const demo = await session.open();
      const { ready, received } = await demo.page.evaluate(() => {
        const entries = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
        const resources = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
        return {
          // Module scripts have run by then.
          ready: entries[0]!.domContentLoadedEventEnd,
          received: [...entries, ...resources].reduce((sum, { transferSize }) => sum + transferSize, 0),
        };
      });
      times.push(ready);
      bytes = received;
    }
    const [first = 0, ...again] = times.map(Math.round);
    console.log(
      `Demo page: ${(bytes / 1000).toFixed(1)} kB; ready after ${first} ms, ${Math.min(...again)} ms with its code compiled`,
    );
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThanOrEqual(60_000);
  });
});
