import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { samples } from '../../../fixtures/images.ts';
import { Home, type StartOptions, TestServer } from '../../../server/support/server.ts';
import { DemoPage } from './demo-page.ts';

/**
 * The path in `CHROMIUM`, or the first of Chromium's usual names on PATH. If there is none, prints the reason and
 * is undefined.
 */
export const chromiumFile = findChromium();

function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const usual = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  const found = (process.env.CHROMIUM ? [process.env.CHROMIUM] : usual).find((file) => existsSync(file));
  if (found === undefined)
    process.stderr.write(
      'Skipped tests that need a browser: chromium is not on PATH, and CHROMIUM is not set\n',
    );
  return found;
}

/** Starts Chromium with a moving test image instead of a camera; permission is still requested. */
const launch = () =>
  chromium.launch({ executablePath: chromiumFile!, args: ['--use-fake-device-for-media-stream'] });

type OpenOptions = BrowserContextOptions & {
  key?: string;
  server?: Pick<TestServer, 'origin' | 'url' | 'key'>;
};

/** A browser and a server for the tests of one file. An error of a page fails its test. */
export class Session {
  browser!: Browser;
  server!: TestServer;
  home!: Home;
  #reloads = 0;
  readonly #pages: DemoPage[] = [];

  constructor(options: StartOptions = {}) {
    if (chromiumFile === undefined) return;
    beforeAll(async () => {
      this.home = new Home();
      [this.browser, this.server] = await Promise.all([launch(), TestServer.start(options, this.home)]);
    });
    afterEach(async () => {
      expect(this.browser.isConnected(), 'Chromium itself failed: it ended during the test').toBe(true);
      const pages = this.#pages.splice(0);
      await Promise.all(pages.map((page) => page.close()));
      expect(pages.flatMap(({ faults }) => faults)).toEqual([]);
    });
    // The browser must exit before the test run removes the folder of its profile.
    afterAll(() => Promise.all([this.browser?.close(), this.server?.stop()]));
  }

  /** Creates a key and waits until the server has read it. */
  async key(options: Parameters<Home['key']>[0]): Promise<string> {
    const key = this.home.key(options);
    this.#reloads += 1;
    await this.server.line(this.server.stderr, /key file was reloaded/, this.#reloads);
    return key;
  }

  /** Opens the page with the server's key, unless another is given. */
  async open(options: OpenOptions = {}): Promise<DemoPage> {
    const { server = this.server, key = server.key, ...context } = options;
    const page = await DemoPage.open(this.browser, server, context);
    this.#pages.push(page);
    await page.key.fill(key);
    return page;
  }
  /** Opens the page and adds two photos of one person. */
  async openWithPhotos(options?: OpenOptions): Promise<DemoPage> {
    const demo = await this.open(options);
    await demo.givePhotos(samples.one, samples.three);
    return demo;
  }
}
