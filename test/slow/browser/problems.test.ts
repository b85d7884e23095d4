import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { hasOpenssl } from '../../fixtures/credentials.ts';
import { blank, samples } from '../../fixtures/images.ts';
import { TestServer } from '../../server/support/server.ts';
import { type DemoPage, jpeg } from './support/demo-page.ts';
import { chromiumFile, Session } from './support/session.ts';

/** Tests that every error is shown in the server's own words, next to its control, with a way to continue. */

const retry = (demo: DemoPage) => demo.page.getByRole('button', { name: /^Try again/ });
const isInvalid = (demo: DemoPage, label: string) =>
  demo.page.getByLabel(label).evaluate((control) => control.ariaInvalid === 'true');

describe.skipIf(chromiumFile === undefined)('an error on the page', () => {
  const session = new Session({ env: { FACEMATCH_MAX_IMAGE_BYTES: '1000000' } });

  const large = 'The maximum is 1.0 MB for a photo. Choose a smaller photo.';
  test.each([
    ['without photos and key', '', [...Array(2).fill('Choose a photo first.'), 'Enter the API key first.']],
    ['with a photo that is too large', 'fm_x', [large]],
  ])('is shown without sending a request %s', async (_what, key, words) => {
    const demo = await session.open({ key });
    if (key !== '') {
      await demo.give(1, jpeg(Buffer.alloc(1_000_001, Buffer.from([0xff, 0xd8, 0xff]))));
      await demo.give(2, jpeg(samples.three));
    }
    await demo.page.getByRole('button', { name: 'Compare', exact: true }).click();
    const faults = demo.page.locator('.fault:visible');
    await faults.first().waitFor();
    const shown = await faults.allTextContents();
    expect(shown.toSorted()).toEqual(words.toSorted());
    expect(await demo.focused()).toBe('Choose photo 1');
    expect(demo.requestUrls.filter((requested) => requested.includes('/face/'))).toEqual([]);
  });

  test('is avoided for a photo above the limit: the page scales it down and says so', async () => {
    const demo = await session.open();
    const large = await sharp(samples.one).resize(3500).jpeg({ quality: 100 }).toBuffer();
    expect(large.length).toBeGreaterThan(1_000_000);
    await demo.givePhotos(large, samples.three);
    expect(await demo.compare()).toMatchObject({ match: true });
    const note = /scaled down here: the maximum is 1\.0 MB/;
    expect(await demo.slot(1).innerText()).toMatch(note);
    await demo.addMore(2, [jpeg(large, 'further.jpg')]);
    expect((await demo.compare()).photos_compared).toEqual({ image1: 1, image2: 2 });
    expect(await demo.page.getByTitle('further.jpg').getAttribute('title')).toMatch(note);
  });

  test.each([
    ['a HEIC photo', '\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'It is a HEIC photo, the usual format of iPhones'],
    ['a text file', 'Dear Sir or Madam,\n'.repeat(9), 'Choose another file.'],
  ])('is shown for %s as soon as it is chosen', async (_what, bytes, advice) => {
    const demo = await session.open();
    await demo.give(2, jpeg(Buffer.from(bytes, 'latin1'), 'x.jpg'));
    await demo.slot(2).getByText(`x.jpg is not a JPEG, PNG or WebP photo. ${advice}`).waitFor();
    expect(await demo.slot(2).getByRole('button', { name: 'Remove photo 2' }).isVisible()).toBe(false);
  });

  test('points to the key field if the key is unknown', async () => {
    const demo = await session.openWithPhotos({ key: 'fm_not_known' });
    const { title, detail, request_id } = await demo.compare();
    const text = await demo.problem.innerText();
    for (const part of [title, detail, 'invalid_api_key', request_id, 'HTTP 401']) {
      expect(text).toContain(part);
    }
    expect(await isInvalid(demo, 'API key')).toBe(true);
    expect(await demo.focused()).toBe('API key');
  });

  test('names the photo without a face, and disappears with the next photo', async () => {
    const demo = await session.open();
    await demo.givePhotos(samples.one, await blank(400, 300, 'jpeg'));
    const { title } = await demo.compare();
    const text = await demo.problem.innerText();
    expect(text).toContain('photo 2');
    expect(text).not.toMatch(/image2|`/);
    expect(await demo.slot(2).innerText()).not.toContain(title);
    expect(await isInvalid(demo, 'Choose photo 1')).toBe(false);
    expect(await isInvalid(demo, 'Choose photo 2')).toBe(true);
    await demo.give(2, jpeg(samples.three));
    expect(await demo.problem.isVisible()).toBe(false);
    expect(await isInvalid(demo, 'Choose photo 2')).toBe(false);
    expect((await demo.compare()).match).toBe(true);
  });

  test("names a missing scope; requests within the key's scopes succeed", async () => {
    const demo = await session.openWithPhotos({ key: await session.key({ scopes: ['match:basic'] }) });
    expect((await demo.compare()).match).toBe(true);
    await demo.page.getByLabel('Fast').check();
    expect(await demo.compare()).toMatchObject({ status: 403, code: 'forbidden_scope' });
    expect(await demo.problem.innerText()).toContain(
      'Ask the operator for a key with the scope match:advanced.',
    );
    await demo.page.getByLabel('Balance').check();
    expect((await demo.compare()).match).toBe(true);
  });

  test('retries with the advanced endpoint if the basic one is forbidden', async () => {
    const demo = await session.openWithPhotos({ key: await session.key({ scopes: ['match:advanced'] }) });
    await demo.page.getByRole('button', { name: 'Compare', exact: true }).click();
    await demo.verdict.waitFor();
    expect(await demo.curl.textContent()).toContain('/upload/advanced');
  });

  test('counts down to Retry-After after too many requests, and then sends again', async () => {
    const demo = await session.openWithPhotos({ key: await session.key({ rate: 0.2, burst: 1 }) });
    expect((await demo.compare()).match).toBe(true);
    const { title } = await demo.compare();
    expect(await demo.problem.innerText()).toContain(title);
    const button = retry(demo);
    expect(await button.textContent()).toMatch(/^Try again in \d+ s$/);
    expect(await button.isDisabled()).toBe(true);
    // Playwright waits until the button is enabled.
    expect((await demo.responseTo(() => button.click())).match).toBe(true);
    expect(await demo.problem.isVisible()).toBe(false);
  });
});

describe.skipIf(chromiumFile === undefined)('the page of a server with other settings', () => {
  const session = new Session({ until: 'listening' });

  test('reports that it is not ready yet, and then responds to the repeated request', async () => {
    const server = await TestServer.forTest({ gate: 'closed', until: 'listening' });
    const demo = await session.openWithPhotos({ server });
    expect(await demo.compare()).toMatchObject({ status: 503, code: 'not_ready' });
    expect(await retry(demo).isDisabled()).toBe(true);
    server.gate.open();
    await server.line(server.stdout, /listens on/);
    expect((await demo.responseTo(() => retry(demo).click())).match).toBe(true);
  });

  test('hides the controls of the advanced endpoint if that is disabled', async () => {
    const env = { FACEMATCH_ENDPOINTS: 'match,demo' };
    const server = await TestServer.forTest({ env });
    const demo = await session.open({ server });
    expect(await demo.page.getByText('Accuracy', { exact: true }).isVisible()).toBe(false);
    expect(await demo.page.getByText('More options').isVisible()).toBe(false);
    expect(await demo.page.getByRole('navigation').getByRole('link').count()).toBe(0);
    await demo.givePhotos(samples.one, samples.three);
    expect((await demo.compare()).match).toBe(true);
  });

  test.skipIf(!hasOpenssl)('is a secure context with TLS, and compares', async () => {
    // The certificate is self-signed, so the test makes the browser trust it.
    const { server } = await TestServer.startTls();
    const demo = await session.openWithPhotos({ server, key: server.key, ignoreHTTPSErrors: true });
    expect(await demo.compare()).toMatchObject({ match: true });
    expect(await demo.page.evaluate(() => window.isSecureContext)).toBe(true);
    await server.stop();
  });
});
