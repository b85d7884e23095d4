import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { Home, type StartOptions, TestServer } from '../../server/support/server.ts';
import { launch } from './chromium.ts';
import { DemoPage } from './demo-page.ts';

/** A browser and a server for the tests of one file. Whatever a page did that no page may do fails its test. */
export class Session {
  browser!: Browser;
  server!: TestServer;
  home!: Home;
  readonly #pages: DemoPage[] = [];

  constructor(options: StartOptions = {}) {
    beforeAll(async () => {
      this.home = new Home();
      [this.browser, this.server] = await Promise.all([launch(), TestServer.start(options, this.home)]);
    });
    afterEach(async () => {
      const pages = this.#pages.splice(0);
      await Promise.all(pages.map((page) => page.close()));
      expect(pages.flatMap(({ faults }) => faults)).toEqual([]);
    });
    afterAll(async () => {
      await this.browser?.close();
      await this.server?.stop();
    });
  }

  /** With the server's key typed in, unless another is given. */
  async open(options: BrowserContextOptions & { key?: string; server?: TestServer } = {}): Promise<DemoPage> {
    const { server = this.server, key = server.key, ...context } = options;
    const page = await DemoPage.open(this.browser, server, context);
    this.#pages.push(page);
    await page.key.fill(key);
    return page;
  }
}
