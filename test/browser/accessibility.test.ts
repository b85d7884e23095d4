import axe from 'axe-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { samples } from '../server/support/pictures.ts';
import type { DemoPage } from './support/demo-page.ts';
import { chromiumFile, Session } from './support/session.ts';

/** Without a mouse, without seeing, on a small screen, in the dark. */

describe.skipIf(chromiumFile === undefined)('the page', () => {
  const session = new Session();
  let photos: { name: string; mimeType: string; buffer: Buffer }[];
  beforeAll(() => {
    photos = [samples.one, samples.three].map((buffer, i) => {
      return { name: `${i}.jpg`, mimeType: 'image/jpeg', buffer };
    });
  });

  /** What it shows at first, a refusal, and an answer with everything unfolded. */
  async function* states(demo: DemoPage) {
    await demo.page.getByText('More options').click();
    yield 'empty';
    await demo.givePhotos(samples.one, samples.three);
    await demo.key.fill('fm_not_known');
    await demo.compare();
    yield 'a refusal';
    await demo.key.fill(session.server.key);
    await demo.compare();
    await demo.page.getByText('The whole answer').click();
    await demo.faces(1).nth(1).click();
    yield 'an answer';
  }

  test('leads from the start to an answer by keyboard alone', async () => {
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
    const answer = await demo.answerTo(() => demo.page.keyboard.press('Enter'));
    expect(answer).toMatchObject({ match: true, accuracy_mode: 'fast', threshold_percent: 65 });
    expect(await demo.focused()).toBe('Compare');
    expect(await demo.status.textContent()).toMatch(/^Match/);
  });

  test('is sent by Enter in the key as well', async () => {
    const demo = await session.open();
    await demo.givePhotos(samples.one, samples.three);
    expect((await demo.answerTo(() => demo.key.press('Enter'))).match).toBe(true);
  });

  test('gives every control a name, and every one a focus that is seen', async () => {
    const demo = await session.open();
    await demo.givePhotos(samples.one, samples.three);
    await demo.compare();
    // Where Tab begins.
    await demo.page.getByRole('heading', { level: 1 }).click();
    const names: string[] = [];
    for (;;) {
      await demo.page.keyboard.press('Tab');
      const name = await demo.focused();
      const ring = await demo.page.evaluate(() => {
        const focus = document.activeElement;
        if (focus === null || focus === document.body) return undefined;
        // Where an input is not to be seen, its label is drawn in its place.
        const drawn = [focus, focus.closest('label')].flatMap((element) => element ?? []);
        return drawn.map((element) => getComputedStyle(element).outlineStyle).join(' ');
      });
      if (ring === undefined) break;
      expect(`${name}: ${ring}`).toMatch(/.: .*solid/);
      names.push(name);
    }
    expect(names.length).toBeGreaterThan(20);
    const inOrder = ['Choose photo 1', 'Choose photo 2', 'API key', 'Compare'].map((name) =>
      names.indexOf(name),
    );
    expect(inOrder).toEqual([...inOrder].sort((a, b) => a - b));
    expect(inOrder).not.toContain(-1);
  });

  test.each([
    'light',
    'dark',
  ] as const)('breaks no rule of WCAG that axe can check when it is %s', async (colorScheme) => {
    const demo = await session.open({ colorScheme });
    await demo.page.evaluate(axe.source);
    for await (const state of states(demo)) {
      const { passes, violations } = await demo.page.evaluate(() =>
        (window as unknown as { axe: typeof axe }).axe.run(),
      );
      expect(passes.map(({ id }) => id)).toContain('color-contrast');
      const broken = violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]);
      expect(broken, state).toEqual([]);
    }
  });

  test('is dark for who likes it dark', async () => {
    const ground = async (colorScheme: 'light' | 'dark') => {
      const demo = await session.open({ colorScheme });
      return demo.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    };
    expect(await ground('dark')).not.toBe(await ground('light'));
  });

  test.each([320, 390, 768, 1280])('at %i pixels is never wider than the window', async (width) => {
    const demo = await session.open({
      viewport: { width, height: 844 },
      isMobile: width < 700,
      hasTouch: width < 700,
    });
    for await (const state of states(demo)) {
      const widest = await demo.page.evaluate(() => document.documentElement.scrollWidth);
      expect(widest, state).toBeLessThanOrEqual(width);
    }
  });

  test('shows what came of a request without scrolling by hand, on a phone', async () => {
    const demo = await session.open({ viewport: { width: 390, height: 844 } });
    await demo.givePhotos(samples.one, samples.three);
    await demo.compare();
    const top = (await demo.verdict.boundingBox())!.y;
    expect(top).toBeGreaterThanOrEqual(0);
    expect(top).toBeLessThan(844);
    await demo.key.fill('fm_not_known');
    await demo.compare();
    expect((await demo.problem.boundingBox())!.y).toBeLessThan(844);
  });

  test('moves nothing for who wants no motion', async () => {
    const moving = async (reducedMotion: 'reduce' | 'no-preference') => {
      const demo = await session.open({ reducedMotion });
      return demo.page.evaluate(
        () =>
          [...document.querySelectorAll('*')].filter((element) => {
            const { transitionDuration, animationName } = getComputedStyle(element);
            return transitionDuration !== '0s' || animationName !== 'none';
          }).length,
      );
    };
    expect(await moving('no-preference')).toBeGreaterThan(0);
    expect(await moving('reduce')).toBe(0);
  });
});
