import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { samples } from '../../fixtures/images.ts';
import { TestServer } from '../../server/support/server.ts';
import { newFolder } from '../../support/folder.ts';
import { launchWithCamera } from './support/camera.ts';
import { chromiumFile } from './support/session.ts';

const { launch } = await import(projectPath('test/support/programs.mjs'));

/** Tests docs/examples/check-in with a sample photo as the camera's video. */

describe.skipIf(chromiumFile === undefined)('the check-in example', () => {
  const folder = newFolder();
  let browser: Browser;
  let page: Page;
  let url: string;

  beforeAll(async () => {
    const server = await TestServer.start();
    for (const [name, bytes] of [
      ['anna', samples.three],
      ['ben', samples.two],
    ] as const) {
      mkdirSync(join(folder, 'visitors', name), { recursive: true });
      writeFileSync(join(folder, 'visitors', name, 'photo.jpg'), bytes);
    }
    const film = join(folder, 'camera.mjpeg');
    writeFileSync(
      film,
      await sharp(samples.one).resize({ width: 1280, height: 720, fit: 'contain' }).jpeg().toBuffer(),
    );
    const env = { FACEMATCH_URL: server.origin, FACEMATCH_KEY: server.key, PORT: '0' };
    const { child } = launch(
      process.execPath,
      [projectPath('docs/examples/check-in/server.mjs'), 'visitors'],
      { env, cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    [url] = await once(createInterface(child.stdout), 'line');
    browser = await launchWithCamera(film);
    page = await browser.newPage();
    page.setDefaultTimeout(120_000);
    await page.goto(url);
    return async () => {
      child.kill();
      await server.stop();
    };
  });
  afterAll(() => browser?.close());

  test.each([
    ['welcomes the person of the photos on file', 'anna', 'Welcome!'],
    ['sends another person to the desk', 'ben', 'Please go to the desk.'],
    ['rejects an unknown name', 'carol', 'Please try again: unknown visitor'],
  ])('%s', async (_, name, statusText) => {
    await page.getByLabel('Your name').fill(name);
    await page.getByRole('button', { name: 'Check in' }).click();
    await expect.poll(() => page.getByRole('status').textContent()).toBe(statusText);
  });
});
