import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import type { Json } from '../../server/support/client.ts';
import { TestServer } from '../../server/support/server.ts';
import { newFolder } from '../../support/folder.ts';
import { surfaces } from '../../support/surface.mjs';
import { sitter } from '../../support/turned-head.mjs';
import { launchWithCamera, turn, videoOf } from './support/camera.ts';
import { chromiumFile } from './support/session.ts';

const { launch } = await import(projectPath('test/support/programs.mjs'));

/** Tests docs/examples/live-check-in with a camera that plays a video of a head that turns to its left. */

/** The page shows the first frames, and asks for the turn after a second. */
const poseAt = (at_s: number) => ({ yaw: 24 * turn(at_s, 1.2), pitch: 0 });
const video_s = 6;

/** The video plays in real time, and Chromium drops frames on a busy machine. */
const retry = 2;

describe.skipIf(chromiumFile === undefined)('the live check-in example', { retry }, () => {
  let server: TestServer;
  let url: string;

  beforeAll(async () => {
    const FACEMATCH_ENDPOINTS = 'challenge,match_live';
    const limits = { FACEMATCH_DEADLINE_MS: '60000', FACEMATCH_CHALLENGE_SECONDS: '300' };
    server = await TestServer.start({
      env: { FACEMATCH_ENDPOINTS, FACEMATCH_CHALLENGE_STEPS: '1', ...limits },
    });
    const folder = newFolder();
    writeFileSync(join(folder, 'reference.jpg'), await sitter()!.jpeg().toBuffer());
    const env = { FACEMATCH_URL: server.origin, FACEMATCH_KEY: server.key, PORT: '0' };
    const { child } = launch(
      process.execPath,
      [projectPath('docs/examples/live-check-in/server.mjs'), 'reference.jpg'],
      { env, cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    [url] = await once(createInterface(child.stdout), 'line');
    return () => child.kill();
  });
  afterAll(() => server?.stop());

  /** Returns a challenge with the step that the video shows. */
  async function challenge(): Promise<Json> {
    for (;;) {
      const reply = await fetch(`${url}/challenge`, { method: 'POST' });
      const body = (await reply.json()) as Json;
      if (body.steps.join() === 'left') return body;
    }
  }

  /** Checks in, and returns the last words of the page. */
  async function checkIn(surface = surfaces.head()): Promise<string> {
    const browser = await launchWithCamera(await videoOf(poseAt, video_s, surface));
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    page.setDefaultTimeout(120_000);
    const json = await challenge();
    await page.route('**/challenge', (route) => route.fulfill({ json }));
    await page.goto(url);
    const start = page.getByRole('button', { name: 'Start' });
    await start.click();
    await page.getByText('Turn your head slowly to your left').waitFor();
    await start.and(page.locator(':enabled')).waitFor();
    return page.getByRole('status').innerText();
  }

  test('welcomes a person who turns as requested', async () => {
    expect(await checkIn()).toBe('Welcome.');
  });

  test('does not welcome a photo of the person, and says what to do', async () => {
    expect(await checkIn(surfaces.flat())).toContain('Move your head further, and back again.');
  });
});
