import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Json } from '../../../server/support/client.ts';
import type { TestServer } from '../../../server/support/server.ts';

/**
 * The demo page in a separate browser window. Finds elements by their text where possible.
 */

export const demoPath = '/API/v1.0/demo';

export interface Photo {
  name: string;
  mimeType: string;
  buffer: Buffer;
}

export const jpeg = (buffer: Buffer, name = 'photo.jpg'): Photo => ({ name, mimeType: 'image/jpeg', buffer });

export class DemoPage {
  readonly page: Page;
  /**
   * Errors that no test may cause: violations of the policy, script errors, requests to other hosts.
   */
  readonly faults: string[] = [];
  readonly requestUrls: string[] = [];
  readonly key: Locator;
  readonly status: Locator;
  readonly verdict: Locator;
  readonly problem: Locator;
  readonly curl: Locator;

  private constructor(page: Page, server: Pick<TestServer, 'origin'>) {
    this.page = page;
    this.key = page.getByLabel('API key');
    this.status = page.getByRole('status');
    this.verdict = page.getByRole('heading', { name: /^(Match|No match)$/ });
    this.problem = page.getByRole('alert');
    this.curl = page.getByRole('group', { name: 'Request', exact: true }).locator('pre');
    page.on('crash', () => this.faults.push('Chromium itself failed: the process of the page ended'));
    page.on('pageerror', ({ message }) => this.faults.push(`error: ${message}`));
    page.on('console', (message) => {
      // Chromium also reports every response of 400 and above here.
      const rejection = message.text().startsWith('Failed to load resource');
      if (!rejection && ['error', 'warning'].includes(message.type())) this.faults.push(message.text());
    });
    page.on('request', (request) => {
      const url = request.url();
      this.requestUrls.push(url);
      if (!/^(?:blob|data):/.test(url) && !url.startsWith(`${server.origin}/`)) this.faults.push(url);
    });
  }

  static async open(
    browser: Browser,
    server: Pick<TestServer, 'origin' | 'url'>,
    options: BrowserContextOptions = {},
    path = demoPath,
  ) {
    // Disables smooth scrolling, during which positions on the page change.
    const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(120_000);
    const demo = new DemoPage(page, server);
    await page.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
        console.error(`policy: ${violatedDirective} ${blockedURI}`);
      });
    });
    await page.goto(server.url(path));
    return demo;
  }

  slot(number: 1 | 2): Locator {
    return this.page.getByRole('region', { name: `Photo ${number}`, exact: true });
  }

  faces(number: 1 | 2): Locator {
    return this.slot(number).getByRole('button', { name: /face/ });
  }

  async give(number: 1 | 2, photo: Photo): Promise<void> {
    await this.page.getByLabel(`Choose photo ${number}`).setInputFiles(photo);
  }

  /** Adds photos of a person to the first photo. */
  async addMore(number: 1 | 2, photos: Photo[]): Promise<void> {
    await this.page.getByLabel(`Add another photo of this person, ${number}`).setInputFiles(photos);
  }

  /** Resolves when the previews are shown. */
  async givePhotos(one: Buffer, two: Buffer): Promise<void> {
    await this.give(1, jpeg(one, 'one.jpg'));
    await this.give(2, jpeg(two, 'two.jpg'));
    await this.preview(1).waitFor();
    await this.preview(2).waitFor();
  }

  preview(number: 1 | 2): Locator {
    return this.slot(number).getByRole('img', { name: `Photo ${number}` });
  }

  /** Performs an action that sends a request, and resolves to the response's body once the page shows it. */
  async responseTo(act: () => Promise<unknown>): Promise<Json> {
    const response = this.page.waitForResponse((received) => received.request().method() === 'POST');
    await act();
    const body = await (await response).json();
    await this.page.locator('#outcome[aria-busy="false"]').waitFor();
    return body;
  }

  compare(): Promise<Json> {
    return this.responseTo(() => this.page.getByRole('button', { name: 'Compare', exact: true }).click());
  }

  /**
   * Presses Tab until the control with this name has the focus. Throws an Error if no control has this name.
   */
  async tabTo(name: string | RegExp): Promise<string> {
    const fits = (text: string) => (typeof name === 'string' ? text === name : name.test(text));
    const passed: string[] = [];
    for (let i = 0; i < 60; i++) {
      await this.page.keyboard.press('Tab');
      const found = await this.focused();
      if (fits(found)) return found;
      passed.push(found);
    }
    throw new Error(`Tab did not reach ${name}, only ${passed.join(' | ')}`);
  }

  /** Returns the accessible name of the focused element, for the kinds of names that this page uses. */
  focused(): Promise<string> {
    return this.page.evaluate(() => {
      const target = document.activeElement;
      const labels = target instanceof HTMLInputElement ? [...(target.labels ?? [])] : [];
      return target?.ariaLabel ?? labels[0]?.textContent?.trim() ?? target?.textContent?.trim() ?? '';
    });
  }

  /** Returns the accessibility rules (axe-core) that the page violates, each with the elements. */
  async brokenRules(): Promise<string[][]> {
    await this.page.evaluate(axe.source);
    const { passes, violations } = await this.page.evaluate(() =>
      (window as unknown as { axe: typeof axe }).axe.run(),
    );
    expect(passes.map(({ id }) => id)).toContain('color-contrast');
    return violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]);
  }

  /** Removes an error that the test caused on purpose. */
  forgive(): void {
    this.faults.length = 0;
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}
