import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Json, paths } from '../../server/support/client.ts';
import { Home, TestServer } from '../../server/support/server.ts';
import { surfaces } from '../../support/surface.mjs';
import { sitter } from '../../support/turned-head.mjs';
import { launchWithCamera, turn, videoOf } from './support/camera.ts';
import { DemoPage, jpeg } from './support/demo-page.ts';
import { chromiumFile } from './support/session.ts';

/** Tests the tab with the live check, with a camera that plays a video made of frames. */

const wanted = ['left', 'up'];
const challengePath = '**/face/match/challenge';

/** The head looks straight until the page shows its first prompt, and then follows the prompts of 3.2 s each. */
const poseAt = (at_s: number) => ({ yaw: 24 * turn(at_s, 3), pitch: 23 * turn(at_s, 6.2) });
const video_s = 12;

/**
 * The video plays in real time. On a busy machine, Chromium drops frames, so a failed test runs again with a new video.
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

  async function pageWith(video: string): Promise<DemoPage> {
    const browser = await launchWithCamera(video);
    onTestFinished(() => browser.close());
    const demo = await DemoPage.open(browser, server);
    await demo.key.fill(server.key);
    // The server chooses steps at random. Requests challenges until it chooses the steps of the video.
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
    const demo = await pageWith(await videoOf(poseAt, video_s));
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
    const demo = await pageWith(await videoOf(poseAt, video_s, surfaces.flat()));
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

  /** Collects the page's camera streams in `opened`. The page gets each stream only after `permit`. */
  async function holdCameras({ page }: DemoPage): Promise<void> {
    await page.evaluate(() => {
      const { mediaDevices } = navigator;
      const real = mediaDevices.getUserMedia.bind(mediaDevices);
      const waiting: (() => void)[] = [];
      const scope = Object.assign(globalThis, { opened: [] as MediaStream[], waiting });
      mediaDevices.getUserMedia = async (constraints) => {
        const stream = await real(constraints);
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
        });
        scope.opened.push(stream);
        return stream;
      };
    });
  }

  const permit = async ({ page }: DemoPage) => {
    await expect.poll(() => page.evaluate('waiting.length')).toBeGreaterThan(0);
    await page.evaluate('waiting.shift()()');
  };
  const cameras = ({ page }: DemoPage) =>
    page.evaluate('opened.map((stream) => stream.getTracks()[0].readyState)');

  test('switches the camera off when the check is cancelled, but not for the next check', async () => {
    const demo = await pageWith(await videoOf(poseAt, video_s, surfaces.flat()));
    await holdCameras(demo);
    const { page } = demo;
    const open = page.getByRole('button', { name: 'Check with the camera' });
    const start = page.getByRole('button', { name: 'Start' });
    const oval = page.getByRole('dialog').getByText('Put your face into the oval');

    // Cancelled before the person permits the camera.
    await open.press('Enter');
    await oval.waitFor();
    await page.keyboard.press('Escape');
    await permit(demo);
    await expect.poll(() => cameras(demo)).toEqual(['ended']);

    // Cancelled during the steps.
    await open.press('Enter');
    await oval.waitFor();
    await permit(demo);
    await start.press('Enter');
    await page.getByRole('dialog').getByText('Turn your head slowly to your left').waitFor();
    await page.keyboard.press('Escape');
    await open.press('Enter');
    await oval.waitFor();
    await permit(demo);
    await start.waitFor();
    await expect.poll(() => cameras(demo)).toEqual(['ended', 'ended', 'live']);
    expect(demo.faults).toEqual([]);
  });
});
