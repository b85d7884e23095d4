import { describe, expect, test } from 'vitest';
import { samples } from '../../fixtures/images.ts';
import { type DemoPage, jpeg } from './support/demo-page.ts';
import { chromiumFile, Session } from './support/session.ts';

/** Tests the page without a mouse, with a screen reader, on a small screen and in dark mode. */

describe.skipIf(chromiumFile === undefined)('the page', () => {
  const session = new Session();
  const photos = [samples.one, samples.three].map((photo) => jpeg(photo));

  /** Yields the page's states: empty, with an error, and with results of two and of several photos. */
  async function* states(demo: DemoPage) {
    await demo.page.getByText('More options').click();
    yield 'empty';
    await demo.givePhotos(samples.one, samples.three);
    await demo.key.fill('fm_not_known');
    await demo.compare();
    yield 'a rejection';
    await demo.key.fill(session.server.key);
    await demo.compare();
    await demo.page.getByText('Response', { exact: true }).click();
    await demo.faces(1).nth(1).click();
    yield 'a response';
    await demo.addMore(1, Array(3).fill(photos[0]));
    await demo.addMore(2, [photos[0]!, jpeg(samples.two)]);
    await demo.compare();
    yield 'photos that disagree';
    await demo.page.getByRole('button', { name: 'Remove photo 3 of person 2' }).click();
    await demo.page.getByRole('button', { name: 'Remove photo 2 of person 2' }).click();
    await demo.compare();
    yield 'a response for several photos';
  }

  test('can be used by keyboard alone', async () => {
    const demo = await session.open({ key: '' });
    let photo = 0;
    demo.page.on('filechooser', (dialog) => void dialog.setFiles(photos[photo++]!));
    for (const number of [1, 2] as const) {
      await demo.tabTo(`Choose photo ${number}`);
      await demo.page.keyboard.press('Enter');
      await demo.preview(number).waitFor();
    }
    await demo.tabTo('API key');
    await demo.page.keyboard.type(session.server.key);
    await demo.tabTo('Balance');
    await demo.page.keyboard.press('ArrowRight');
    await demo.tabTo(/^Threshold/);
    for (let i = 0; i < 5; i++) await demo.page.keyboard.press('ArrowLeft');
    await demo.tabTo('Compare');
    const response = await demo.responseTo(() => demo.page.keyboard.press('Enter'));
    expect(response).toMatchObject({ match: true, accuracy_mode: 'fast', threshold_percent: 65 });
    expect(await demo.focused()).toBe('Compare');
    expect(await demo.status.textContent()).toMatch(/^Match/);
  });

  test.each([
    ['in light mode', { colorScheme: 'light' }, [1280, 768]],
    ['in dark mode on a phone', { colorScheme: 'dark', isMobile: true, hasTouch: true }, [390, 320]],
  ] as const)(
    'violates no rule of WCAG, and is never wider than the window, %s',
    async (_when, options, widths) => {
      const demo = await session.open(options);
      for await (const state of states(demo)) {
        for (const width of widths) {
          await demo.page.setViewportSize({ width, height: 844 });
          const widest = await demo.page.evaluate(() => document.documentElement.scrollWidth);
          expect(widest, `${state} at ${width}`).toBeLessThanOrEqual(width);
        }
        expect(await demo.brokenRules(), state).toEqual([]);
      }
    },
  );

  test('breaks no word in the results of one against many, on a phone', async () => {
    const demo = await session.open({ viewport: { width: 390, height: 844 } });
    await demo.page.getByLabel('One against many').check();
    await demo.give(1, photos[0]!);
    await demo.page
      .getByLabel('Add photos to compare with')
      .setInputFiles([jpeg(samples.two, 'sample2.jpg'), jpeg(samples.three, `${'long'.repeat(20)}.jpg`)]);
    await demo.compare();
    const table = demo.page.getByRole('region', { name: '1 of 2 photos match' });
    await table.locator('summary').last().click();
    const linesOf = (name: string) =>
      table.getByText(name, { exact: true }).evaluate((cell) => {
        const text = document.createRange();
        text.selectNodeContents(cell);
        return new Set([...text.getClientRects()].map(({ top }) => top)).size;
      });
    for (const width of [390, 320]) {
      await demo.page.setViewportSize({ width, height: 844 });
      for (const word of ['Face', 'Photo', 'Confidence', 'Result'])
        expect(await linesOf(word), `${word} at ${width}`).toBe(1);
      const widest = await demo.page.evaluate(() => document.documentElement.scrollWidth);
      expect(widest).toBeLessThanOrEqual(width);
    }
    await demo.page.setViewportSize({ width: 390, height: 844 });
    expect(await linesOf('sample2.jpg')).toBe(1);
    expect(await demo.brokenRules()).toEqual([]);
  });

  test('shows the result of a request without scrolling by hand, on a phone', async () => {
    const demo = await session.openWithPhotos({ viewport: { width: 390, height: 844 } });
    await demo.compare();
    const top = (await demo.verdict.boundingBox())!.y;
    expect(top).toBeGreaterThanOrEqual(0);
    expect(top).toBeLessThan(844);
    await demo.key.fill('fm_not_known');
    await demo.compare();
    expect((await demo.problem.boundingBox())!.y).toBeLessThan(844);
  });
});
