import { describe, expect, test } from 'vitest';
import { WorkerGate } from '../server/support/gate.ts';
import { blank, samples } from '../server/support/pictures.ts';
import { Home, TestServer } from '../server/support/server.ts';
import { type DemoPage, jpeg } from './support/demo-page.ts';
import { chromiumFile, Session } from './support/session.ts';

/** Every refusal in the server's own words, beside the control that it is about, with a way on. */

const retry = (demo: DemoPage) => demo.page.getByRole('button', { name: /^Try again/ });
const isInvalid = (demo: DemoPage, label: string) =>
  demo.page.getByLabel(label).evaluate((control) => control.ariaInvalid === 'true');

describe.skipIf(chromiumFile === undefined)('a refusal', () => {
  const session = new Session({ env: { FACEMATCH_MAX_IMAGE_BYTES: '1000000' } });

  test.each([
    ['without a key', '', 'missing_api_key', 401],
    ['with a key that is unknown', 'fm_not_known', 'invalid_api_key', 401],
  ])('%s points to the key', async (_, key, code, status) => {
    const demo = await session.open({ key });
    await demo.givePhotos(samples.one, samples.three);
    const { title, detail, request_id } = await demo.compare();
    const text = await demo.problem.innerText();
    for (const part of [title, detail, code, request_id, `HTTP ${status}`]) expect(text).toContain(part);
    expect(await isInvalid(demo, 'API key')).toBe(true);
    expect(await demo.focused()).toBe('API key');
  });

  test('of a key that cannot be sent is told without sending it', async () => {
    const demo = await session.open({ key: 'fm_ключ' });
    await demo.givePhotos(samples.one, samples.three);
    await demo.page.getByRole('button', { name: 'Compare', exact: true }).click();
    await demo.problem.waitFor();
    expect(await demo.problem.innerText()).toContain('a character that no key can have');
    expect(demo.addresses.filter((address) => address.includes('/face/'))).toEqual([]);
  });

  test('for want of a face names the photo, and is gone with the next one', async () => {
    const demo = await session.open();
    await demo.givePhotos(samples.one, await blank(400, 300, 'jpeg'));
    const { title, detail } = await demo.compare();
    expect(await demo.problem.innerText()).toContain(detail);
    expect(detail).toContain('image2');
    expect(await demo.slot(2).innerText()).toContain(title);
    expect(await demo.slot(1).innerText()).not.toContain(title);
    expect(await isInvalid(demo, 'Choose photo 2')).toBe(true);
    await demo.give(2, jpeg(samples.three));
    expect(await demo.problem.isVisible()).toBe(false);
    expect(await isInvalid(demo, 'Choose photo 2')).toBe(false);
    expect((await demo.compare()).match).toBe(true);
  });

  test('of a text file says what the server takes, and that the browser cannot show it', async () => {
    const demo = await session.open();
    await demo.give(1, jpeg(samples.one));
    await demo.give(2, { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Dear diary') });
    await demo.slot(2).getByText('This browser cannot show the file').waitFor();
    const { detail, code } = await demo.compare();
    expect(code).toBe('unsupported_image_format');
    expect(await demo.problem.innerText()).toContain(detail);
    expect(await isInvalid(demo, 'Choose photo 2')).toBe(true);
  });

  test('for want of a photo points to its place', async () => {
    const demo = await session.open();
    await demo.give(1, jpeg(samples.one));
    expect(await demo.compare()).toMatchObject({ code: 'missing_field', field: 'image2' });
    expect(await demo.focused()).toBe('Choose photo 2');
  });

  test('of a photo that is too large tells the limit', async () => {
    const demo = await session.open();
    await demo.givePhotos(samples.one, Buffer.concat([samples.three, Buffer.alloc(1_000_000)]));
    expect(await demo.compare()).toMatchObject({ status: 413, field: 'image2' });
    expect(await demo.problem.innerText()).toContain('The limit is 1.0 MB.');
  });

  test('of a field points to it among the further options', async () => {
    const demo = await session.open();
    await demo.givePhotos(samples.one, samples.three);
    await demo.page.getByText('More options').click();
    await demo.page.getByLabel('Min det score').fill('many');
    const { detail } = await demo.compare();
    expect(await demo.problem.innerText()).toContain(detail);
    expect(await demo.focused()).toBe('Min det score');
  });

  test('of a scope names it; what needs no more than the key may do is done', async () => {
    const demo = await session.open({ key: await session.key({ scopes: ['match:basic'] }) });
    await demo.givePhotos(samples.one, samples.three);
    expect((await demo.compare()).match).toBe(true);
    await demo.page.getByLabel('Fast').check();
    expect(await demo.compare()).toMatchObject({ status: 403, code: 'forbidden_scope' });
    expect(await demo.problem.innerText()).toContain('The key lacks the scope match:advanced.');
    await demo.page.getByLabel('Balance').check();
    expect((await demo.compare()).match).toBe(true);
  });

  test('of the basic endpoint sends the same to the advanced one', async () => {
    const demo = await session.open({ key: await session.key({ scopes: ['match:advanced'] }) });
    await demo.givePhotos(samples.one, samples.three);
    await demo.page.getByRole('button', { name: 'Compare', exact: true }).click();
    await demo.verdict.waitFor();
    expect(await demo.curl.textContent()).toContain('/upload/advanced');
  });

  test('for too many requests counts down to the time that the server tells, and then sends again', async () => {
    const demo = await session.open({ key: await session.key({ rate: 0.2, burst: 1 }) });
    await demo.givePhotos(samples.one, samples.three);
    expect((await demo.compare()).match).toBe(true);
    const { title } = await demo.compare();
    expect(await demo.problem.innerText()).toContain(title);
    const button = retry(demo);
    expect(await button.textContent()).toMatch(/^Try again in \d+ s$/);
    expect(await button.isDisabled()).toBe(true);
    // Playwright waits until it can be clicked.
    expect((await demo.answerTo(() => button.click())).match).toBe(true);
    expect(await demo.problem.isVisible()).toBe(false);
  });

  test('links to where the code is explained', async () => {
    const demo = await session.open({ key: 'fm_not_known' });
    const { code } = await demo.compare();
    const explained = demo.page.context().waitForEvent('page');
    await demo.page.getByRole('link', { name: 'What this means' }).click();
    const docs = await explained;
    expect(docs.url()).toBe(session.server.url(`/API/v1.0/docs#error-${code}`));
  });
});

describe.skipIf(chromiumFile === undefined)('a server', () => {
  const session = new Session({ until: 'listening' });

  test('that is not ready yet says so, and is asked again', async () => {
    const home = new Home();
    const gate = new WorkerGate(home);
    gate.close();
    const server = await TestServer.start({ env: gate.env, until: 'listening' }, home);
    const demo = await session.open({ server });
    await demo.givePhotos(samples.one, samples.three);
    expect(await demo.compare()).toMatchObject({ status: 503, code: 'not_ready' });
    expect(await retry(demo).isDisabled()).toBe(true);
    gate.open();
    await server.line(server.stdout, /listens on/);
    expect((await demo.answerTo(() => retry(demo).click())).match).toBe(true);
    await server.stop();
  });

  test('that is gone is told as such', async () => {
    const server = await TestServer.start({ until: 'listening' });
    const demo = await session.open({ server });
    await demo.givePhotos(samples.one, samples.three);
    await server.stop();
    await demo.page.getByRole('button', { name: 'Compare', exact: true }).click();
    await demo.problem.waitFor();
    expect(await demo.problem.innerText()).toContain('No answer from the server');
  });

  test('that hangs up on a body far too large is understood', async () => {
    const server = await TestServer.start({
      env: { FACEMATCH_MAX_BODY_BYTES: '2000000' },
      until: 'listening',
    });
    const demo = await session.open({ server });
    const large = Buffer.concat([samples.one, Buffer.alloc(8_000_000)]);
    await demo.givePhotos(large, samples.three);
    await demo.page.getByRole('button', { name: 'Compare', exact: true }).click();
    await demo.problem.waitFor();
    expect(await demo.problem.innerText()).toMatch(/too large(?:.|\n)*The limit is 2\.0 MB\./);
    await server.stop();
  });

  test('without the advanced endpoint is shown without what only that one can', async () => {
    const env = { FACEMATCH_ENDPOINTS: 'match,demo' };
    const server = await TestServer.start({ env });
    const demo = await session.open({ server });
    expect(await demo.page.getByText('Accuracy', { exact: true }).isVisible()).toBe(false);
    expect(await demo.page.getByText('More options').isVisible()).toBe(false);
    expect(await demo.page.getByRole('navigation').getByRole('link').count()).toBe(0);
    await demo.givePhotos(samples.one, samples.three);
    expect((await demo.compare()).match).toBe(true);
    await server.stop();
  });

  test('without any match endpoint is told as such', async () => {
    const server = await TestServer.start({ env: { FACEMATCH_ENDPOINTS: 'demo' }, until: 'listening' });
    const demo = await session.open({ server });
    await demo.page.getByRole('button', { name: 'Compare', exact: true }).click();
    await demo.problem.waitFor();
    expect(await demo.problem.innerText()).toContain('Both match endpoints are switched off');
    await server.stop();
  });
});
