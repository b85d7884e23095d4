import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Json, paths } from '../../server/support/client.ts';
import { Home, TestServer } from '../../server/support/server.ts';
import { newFolder } from '../../support/folder.ts';
import { surfaces } from '../../support/surface.mjs';
import { sitter, turnedFrames } from '../../support/turned-head.mjs';
import { DemoPage, jpeg } from './support/demo-page.ts';
import { chromiumFile } from './support/session.ts';

/** The tab with the liveness check, with a camera that plays a film made of frames. */

const wanted = ['left', 'up'];
const challengePath = '**/face/match/challenge';

/** A second of film has ten frames. It begins when the page opens the camera. */
const poses = (at_s: number): { yaw: number; pitch: number } => {
  const bump = (from: number) => Math.max(0, Math.min(1, 2 * Math.min(at_s - from, from + 1.8 - at_s)));
  // Straight while the page asks for that; then the head follows the prompts of 3.2 s each.
  return { yaw: 24 * bump(2.4), pitch: 23 * bump(5.6) };
};
const film_s = 12;

async function filmOf(surface = surfaces.head()): Promise<string> {
  const times = Array.from({ length: 10 * film_s }, (_, i) => poses(i / 10));
  const frames: Buffer[] = await turnedFrames(times, { surface, quality: 85 });
  const file = join(newFolder(), 'film.mjpeg');
  // Chromium plays 30 a second.
  writeFileSync(file, Buffer.concat(frames.flatMap((frame) => [frame, frame, frame])));
  return file;
}

/**
 * The film plays in real time. Chromium drops frames of it on a busy machine, and then the check starts again with a new film.
 */
const retry = 2;

describe.skipIf(chromiumFile === undefined)('the live check', { retry }, () => {
  let server: TestServer;
  let home: Home;
  beforeAll(async () => {
    home = new Home();
    const env = {
      FACEMATCH_ENDPOINTS: 'match,challenge,match_live,demo',
      FACEMATCH_DEADLINE_MS: '60000',
      FACEMATCH_CHALLENGE_SECONDS: '300',
    };
    server = await TestServer.start({ env }, home);
  });
  afterAll(() => server?.stop());

  async function challengeFor(steps: readonly string[]): Promise<Json> {
    for (;;) {
      const { body } = await server.send({ path: paths.challenge });
      if (body.steps.join() === steps.join()) return body;
    }
  }

  async function pageWith(film: string): Promise<DemoPage> {
    const browser: Browser = await chromium.launch({
      executablePath: chromiumFile!,
      args: [
        '--use-fake-device-for-media-stream',
        '--use-fake-ui-for-media-stream',
        `--use-file-for-fake-video-capture=${film}`,
      ],
    });
    onTestFinished(() => browser.close());
    const demo = await DemoPage.open(browser, server);
    await demo.key.fill(server.key);
    // The server draws the steps; the film shows two of them, so it is asked again until it draws those.
    const drawn = await challengeFor(wanted);
    await demo.page.route(challengePath, (route) => route.fulfill({ status: 201, json: drawn }));
    await demo.page.getByRole('radio', { name: 'Live check' }).check();
    await demo.give(1, jpeg(await sitter()!.jpeg().toBuffer(), 'reference.jpg'));
    await demo.preview(1).waitFor();
    return demo;
  }

  /** Opens the dialog and follows it to the result, by keyboard alone. */
  async function check(demo: DemoPage): Promise<Json> {
    const { page } = demo;
    await page.getByRole('button', { name: 'Check with the camera' }).press('Enter');
    const start = page.getByRole('button', { name: 'Start' });
    await start.waitFor();
    expect(await demo.focused()).toBe('Start');
    const responded = page.waitForResponse((response) => response.url().endsWith('/upload/live'));
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('Turn your head slowly to your left').waitFor();
    await page.getByRole('dialog').getByText('Lift your chin slowly').waitFor();
    const body = await (await responded).json();
    await page.getByRole('region', { name: /verified/i }).waitFor();
    return body;
  }

  test('verifies a head that turns as requested, and shows each step with its frame', async () => {
    const demo = await pageWith(await filmOf());
    const body = await check(demo);
    expect(body).toMatchObject({ live: true, live_reasons: [], verified: true });
    expect(body.frames.length).toBeLessThanOrEqual(16);
    const result = demo.page.getByRole('region', { name: /^Verified/ });
    expect(await result.getByRole('row').allInnerTexts()).toEqual([
      expect.stringContaining('Step'),
      expect.stringMatching(/Turn to your left.*✓ shown/s),
      expect.stringMatching(/Lift your chin.*✓ shown/s),
    ]);
    expect(await result.getByRole('img').count()).toBe(2);
    expect(await demo.status.first().innerText()).toMatch(/^Verified/);
    expect(await demo.brokenRules()).toEqual([]);
    expect(demo.faults).toEqual([]);
  });

  test('does not verify a photo, says what to do, and switches the camera off', async () => {
    const demo = await pageWith(await filmOf(surfaces.flat()));
    const body = await check(demo);
    expect(body).toMatchObject({ match: true, live: false, verified: false });
    expect(body.live_reasons).toContain('step_missing');
    await demo.page.getByText('Move your head further, and back again.').waitFor();
    expect(
      await demo.page.evaluate(
        () => document.querySelector<HTMLVideoElement>('dialog#live video')!.srcObject,
      ),
    ).toBeNull();
    expect(demo.faults).toEqual([]);
  });
});
