import type { BrowserContextOptions } from 'playwright-core';
import { describe, expect, test, vi } from 'vitest';
import { errorCodes } from '../../../src/errors.ts';
import { problemTypes } from '../../../src/http/responses.ts';
import { problemName } from '../../../src/site/schemas.ts';
import { samples } from '../../fixtures/images.ts';
import { DemoPage, demoPath, jpeg } from './support/demo-page.ts';
import { chromiumFile, Session } from './support/session.ts';

/**
 * Tests the API reference page with a real server. The page runs Scalar's script under the server's content
 * security policy.
 */

const docs = '/API/v1.0/docs';
const match = '#tag/match/POST/API/v1.0/face/match/upload';

describe.skipIf(chromiumFile === undefined)('the API reference page', () => {
  const session = new Session();

  /**
   * Opens a page and runs `act`. Fails if the page violates its content security policy, logs an error, or sends a
   * request to another host.
   */
  async function visit(
    path: string,
    act: (shown: DemoPage) => Promise<void>,
    options: BrowserContextOptions = {},
  ): Promise<void> {
    const shown = await DemoPage.open(session.browser, session.server, options, path);
    await shown.page.getByRole('heading', { level: 1, name: 'facematch' }).waitFor();
    await act(shown);
    await shown.close();
    expect(shown.faults).toEqual([]);
  }

  test('loads less than 1 MB, all from its own origin, in the colours of the demo', () =>
    visit(
      docs,
      async ({ page, requestUrls }) => {
        const parts = requestUrls.slice(1).map((path) => path.replace(session.server.url(docs), ''));
        expect(parts.filter((part) => !/^\?part=\/[\w-]+\.js$/.test(part))).toEqual([]);
        const fetched = (one: string) =>
          fetch(one).then((received) => received.headers.get('content-length'));
        const bytes = (await Promise.all(requestUrls.map(fetched))).reduce(
          (sum, one) => sum + Number(one),
          0,
        );
        expect(bytes).toBeLessThan(1_000_000);
        const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        expect(background).toBe('rgb(16, 20, 24)');
      },
      { colorScheme: 'dark' },
    ));

  test('explains a problem at the URL of its type', () =>
    visit(problemTypes + errorCodes[0], async ({ page }) => {
      const described = await (await fetch(session.server.url('/API/v1.0/openapi.json'))).json();
      const known = errorCodes.filter((code) => code in described.components.examples);
      // Checks every fifth code, because all problem pages come from one template.
      const codes = known.filter((_code, at) => at % 5 === 0);
      for (const code of codes) {
        await page.evaluate((hash) => location.replace(hash), `#error-${code}`);
        const { title } = described.components.examples[code].value;
        await page.getByText(`${title}. `).first().waitFor();
        expect(page.url()).toContain(`#models/${problemName(code)}`);
      }
    }));

  test('lists the endpoints without its script, in the first 20 kB', async () => {
    const shown = await DemoPage.open(session.browser, session.server, { javaScriptEnabled: false }, docs);
    const link = shown.page.getByRole('link', { name: 'Compare two photos', exact: true });
    expect(await link.getAttribute('href')).toBe(match);
    await shown.page.context().close();
    const text = await (await fetch(session.server.url(docs))).text();
    expect(text.indexOf('Try it in a browser')).toBeLessThan(20_000);
  });

  test('sends a request with a key and photos, shows the response, and stores no key', () =>
    visit(docs + match, async ({ page }) => {
      await page
        .getByRole('button', { name: /Test Request/ })
        .first()
        .click();
      const client = page.getByRole('dialog');
      for (const photo of [samples.one, samples.three]) {
        const chooser = page.waitForEvent('filechooser');
        await client.getByRole('button', { name: 'Select File' }).first().click();
        await (await chooser).setFiles(jpeg(photo));
        await page.waitForLoadState();
      }
      await client.getByLabel('Value', { exact: false }).first().fill(session.server.key);
      const received = page.waitForResponse((response) => response.request().method() === 'POST');
      await client.getByRole('button', { name: /^Send/ }).first().click();
      expect(await (await received).json()).toMatchObject({ match: true });
      await client.getByText('200 OK').waitFor();
      await client.getByText('"confidence_percent"').first().waitFor();
      const kept = await page.evaluate(async () => {
        const databases = await indexedDB.databases();
        return [...Object.values(localStorage), ...Object.values(sessionStorage), databases];
      });
      expect(JSON.stringify(kept)).not.toContain(session.server.key);
    }));

  test('explains the key in the empty key field', () =>
    visit(docs, async ({ page }) => {
      await page.getByPlaceholder('your API key').first().waitFor();
      expect(await page.locator('[placeholder^="QUxM"]').count()).toBe(0);
    }));

  test('has samples in three languages, also on a phone, and links to the demo', () =>
    visit(
      docs,
      async (shown) => {
        const { page } = shown;
        const demo = page.getByRole('link', { name: 'Try it in a browser' });
        expect(await demo.getAttribute('href')).toBe(demoPath);
        await page.evaluate((hash) => location.replace(hash), match);
        const options = page.getByRole('listbox').getByRole('option');
        // Lazily loaded content closes the list.
        await vi.waitFor(async () => {
          await page.getByRole('button', { name: 'curl' }).first().click({ timeout: 10_000 });
          expect(await options.allTextContents()).toEqual(['curl', 'Node.js', 'Python requests']);
          await options.last().click({ timeout: 10_000 });
          await page.getByRole('button', { name: 'Python requests' }).first().waitFor({ timeout: 10_000 });
        }, 120_000);
        const widest = await page.evaluate(() => document.documentElement.scrollWidth);
        expect(widest).toBeLessThanOrEqual(390);
        expect(await shown.brokenRules()).toEqual([]);
      },
      { viewport: { width: 390, height: 844 } },
    ));
});
