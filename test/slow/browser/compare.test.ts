import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Sharp } from 'sharp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { blank, samples } from '../../fixtures/images.ts';
import { cutOuts } from '../../support/portraits.mjs';
import { type DemoPage, jpeg } from './support/demo-page.ts';
import { chromiumFile, Session } from './support/session.ts';

/** Tests every kind of comparison on the page, and finding faces. The live check is in live.test.ts. */

const session = new Session();

describe.skipIf(chromiumFile === undefined)('two photos', () => {
  test('match for one person, with percent, rate in words and timings', async () => {
    const demo = await session.openWithPhotos();
    const response = await demo.compare();
    expect(response.match).toBe(true);
    expect(await demo.verdict.textContent()).toBe('Match');
    const gauge = demo.page.getByRole('meter', { name: 'Confidence' });
    expect(Number(await gauge.getAttribute('aria-valuenow'))).toBe(response.confidence_percent);
    expect(await gauge.getAttribute('aria-valuetext')).toMatch(
      /^\d+(\.\d)?\s% ≥ 70\s%\. .*1 in .* pairs of different people look this alike/,
    );
    expect(await demo.page.locator('#percent').textContent()).toBe(`${response.confidence_percent}\u00a0%`);
    await demo.page.getByText('Why?').click();
    const text = await demo.page.locator('#result').innerText();
    expect(text).toMatch(/1 in .* pairs of different people look this alike/);
    expect(text).toContain('1 in 10,000 pairs of different people would match');
    // The best pair of the table has the percentage of the result.
    const best = demo.page.getByRole('group', { name: 'Pairs of faces' }).getByRole('row').nth(1);
    expect(await best.textContent()).toContain(`${response.confidence_percent}\u00a0%`);
    for (const stage of Object.keys(response.timings_ms).filter((name) => name !== 'total'))
      expect(text.toLowerCase()).toContain(stage);
    expect(await demo.status.textContent()).toMatch(/^Match \(.*\)\. .* 9 pairs compared\.$/);
  });

  test('are compared if a proxy serves the page under a path prefix', async () => {
    const { server } = session;
    const proxy = createServer((incoming, outgoing) => {
      const { method, url = '', headers } = incoming;
      const path = url.startsWith('/faces/') ? url.slice('/faces'.length) : '/not-below-it';
      const onward = request(server.url(path), { method, headers }, (response) => {
        outgoing.writeHead(response.statusCode!, response.headers);
        response.pipe(outgoing);
      });
      incoming.pipe(onward);
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void proxy.close());
    await once(proxy, 'listening');
    const origin = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const below = { origin, url: (path: string) => `${origin}/faces${path}`, key: server.key };
    const demo = await session.open({ server: below });
    await demo.page
      .getByRole('button', { name: /sample/i })
      .first()
      .click();
    await demo.preview(2).waitFor();
    expect((await demo.compare()).match).toBeTypeOf('boolean');
    expect(await demo.curl.textContent()).toContain(`${origin}/faces/API`);
    await demo.give(2, jpeg(await blank(400, 300, 'jpeg')));
    await demo.compare();
    const help = demo.problem.getByRole('link', { name: 'What this means' });
    expect(await help.getAttribute('href')).toMatch(/^\/faces\/API\/.*docs#./);
  });

  test('show a box for every face of the response, and no box after a photo is removed', async () => {
    const demo = await session.openWithPhotos();
    const response = await demo.compare();
    for (const number of [1, 2] as const) {
      const { width, height, faces, face_index } = response[`image${number}`];
      const boxes = demo.faces(number);
      expect(await boxes.count()).toBe(faces.length);
      const displayed = (await demo.preview(number).boundingBox())!;
      for (const { index, box } of faces) {
        const drawn = (await boxes.nth(index).boundingBox())!;
        const off = [
          drawn.x - displayed.x - (box.x / width) * displayed.width,
          drawn.y - displayed.y - (box.y / height) * displayed.height,
          drawn.width - (box.width / width) * displayed.width,
          drawn.height - (box.height / height) * displayed.height,
        ];
        // The offsets are in CSS pixels. The border of a box is two pixels wide.
        for (const pixels of off) expect(Math.abs(pixels)).toBeLessThan(2);
      }
      expect(await boxes.nth(face_index).getAttribute('aria-label')).toContain('compared');
    }
    await demo.slot(2).getByRole('button', { name: 'Remove photo 2' }).click();
    expect(await demo.verdict.isVisible()).toBe(false);
    expect(await demo.faces(1).count()).toBe(0);
  });

  test('do not match if they show different people, show no error, and match at a lower threshold', async () => {
    const demo = await session.open();
    await demo.givePhotos(samples.one, samples.two);
    expect((await demo.compare()).match).toBe(false);
    expect(await demo.verdict.textContent()).toBe('No match');
    expect(await demo.problem.isVisible()).toBe(false);
    expect(await demo.status.textContent()).toMatch(/^No match \(.* is below the threshold of 70\s%\)\./);
    await demo.page.getByLabel('Threshold').fill('30');
    expect(await demo.page.getByText('The options have changed').isVisible()).toBe(true);
    await demo.page.getByLabel('Fast').check();
    const response = await demo.compare();
    expect(response).toMatchObject({ threshold_percent: 30, accuracy_mode: 'fast', match: true });
    expect(await demo.page.getByText('The options have changed').isVisible()).toBe(false);
    expect(await demo.curl.textContent()).toContain('accuracy_mode=fast');
  });
});

describe.skipIf(chromiumFile === undefined)('two faces of group photos', () => {
  test('are compared when they are clicked, and automatic choice can be restored', async () => {
    const demo = await session.openWithPhotos();
    expect((await demo.compare()).pairs_compared).toBe(9);
    await demo.faces(1).nth(1).click();
    expect(await demo.status.textContent()).toContain(
      'Selected: face 2 of photo 1. Select a face in photo 2',
    );
    const chosen = await demo.responseTo(() => demo.faces(2).nth(2).click());
    expect(chosen).toMatchObject({ pairs_compared: 1, image1: { face_index: 1 }, image2: { face_index: 2 } });
    expect(await demo.curl.textContent()).toContain('image2_face_index=2');
    expect(await demo.faces(1).nth(1).getAttribute('aria-pressed')).toBe('true');
    const again = await demo.responseTo(() =>
      demo.page.getByRole('button', { name: 'Select automatically' }).click(),
    );
    expect(again.pairs_compared).toBe(9);
    expect(await demo.curl.textContent()).not.toContain('face_index');
  });

  test('are compared when they are chosen by keyboard, and the focus stays on the face', async () => {
    const demo = await session.openWithPhotos();
    await demo.compare();
    await demo.slot(1).getByLabel('Choose photo 1').focus();
    await demo.tabTo(/^Photo 1, face 3 of 3/);
    await demo.page.keyboard.press('Space');
    await demo.tabTo(/^Photo 2, face 2 of 3/);
    const chosen = await demo.responseTo(() => demo.page.keyboard.press('Enter'));
    expect(chosen).toMatchObject({ pairs_compared: 1, image1: { face_index: 2 }, image2: { face_index: 1 } });
    expect(await demo.focused()).toBe('Photo 2, face 2 of 3, compared');
  });
});

describe.skipIf(chromiumFile === undefined)('one against many', () => {
  test('shows the best match first with its face, and the error of a photo without a result', async () => {
    const demo = await session.open();
    await demo.page.getByLabel('One against many').check();
    await demo.give(1, jpeg(samples.one));
    // The file has a JPEG signature, so only the server detects that it is damaged.
    const notes = jpeg(Buffer.from('\xff\xd8\xff\xe0 no image', 'latin1'), 'notes.jpg');
    const others = [jpeg(samples.two, 'stranger.jpg'), notes, jpeg(samples.three, 'friend.jpg')];
    await demo.page.getByLabel('Add photos to compare with').setInputFiles(others);
    expect(await demo.slot(2).isVisible()).toBe(false);
    const response = await demo.compare();
    expect(response.results).toHaveLength(3);
    const rows = demo.page.getByRole('region', { name: '1 of 3 photos match' }).getByRole('row');
    const names = await rows.getByRole('rowheader').allTextContents();
    expect(names).toEqual(['friend.jpg', 'stranger.jpg', 'notes.jpg']);
    const texts = await rows.allTextContents();
    expect(texts[1]).toMatch(/%Match.*1 in .* pairs of different people look this alike/);
    expect(texts[2]).toMatch(/%No match/);
    expect(texts[3]).toContain('The image is damaged');
    expect(await rows.locator('canvas').count()).toBe(2);
    expect(await demo.status.textContent()).toBe('1 of 3 photos match.');
    expect(await demo.curl.textContent()).toContain('-F image2=@friend.jpg');
    expect(await demo.faces(1).count()).toBe(3);
  });

  test('shows the error next to the single photo if it has no face', async () => {
    const demo = await session.open();
    await demo.page.getByLabel('One against many').check();
    await demo.give(1, jpeg(await blank(300, 200, 'jpeg')));
    await demo.page.getByLabel('Add photos to compare with').setInputFiles([jpeg(samples.two)]);
    await demo.compare();
    expect(await demo.problem.textContent()).toContain('No face found');
    expect(await demo.slot(1).locator('[aria-invalid="true"]').count()).toBe(1);
    // If the list of photos to compare with is empty, the error is shown at its file field.
    await demo.give(1, jpeg(samples.one));
    await demo.page.getByRole('button', { name: 'Remove photo 1 to compare with' }).click();
    await demo.page.getByRole('button', { name: 'Compare', exact: true }).click();
    expect(await demo.page.locator('#others-fault').textContent()).toBe('Choose a photo first.');
    demo.forgive();
  });
});

describe.skipIf(chromiumFile === undefined)('the faces of a photo', () => {
  test('are listed in a table with their details, and marked in the photo', async () => {
    const demo = await session.open();
    await demo.page.getByLabel('Find faces').check();
    await demo.give(1, jpeg(samples.one));
    const response = await demo.responseTo(() =>
      demo.page.getByRole('button', { name: 'Find faces' }).click(),
    );
    const { faces } = response.image;
    const table = demo.page.getByRole('region', { name: '3 faces' });
    const texts = await table.getByRole('row').allTextContents();
    expect(texts).toHaveLength(1 + faces.length);
    for (const [i, { human_score, quality }] of faces.entries()) {
      expect(texts[i + 1]).toContain(human_score.toFixed(1));
      expect(texts[i + 1]).toContain(`${quality.face_pixels} px`);
    }
    expect(await demo.faces(1).count()).toBe(faces.length);
    expect(await demo.page.getByLabel('Threshold').isVisible()).toBe(false);
    // Switching back clears the results, and two photos can be compared.
    await demo.page.getByLabel('Two photos').check();
    expect(await table.isVisible()).toBe(false);
    await demo.give(2, jpeg(samples.three));
    expect((await demo.compare()).match).toBe(true);
  });
});

const [first, again, otherPerson] = cutOuts() as [Sharp, Sharp, Sharp];
const photo = async (image: Sharp, name: string) => jpeg(await image.clone().jpeg().toBuffer(), name);
const [one, mirrored, two, other] = await Promise.all([
  photo(first, 'one.jpg'),
  photo(first.clone().flop(), 'mirrored.jpg'),
  photo(again, 'two.jpg'),
  photo(otherPerson, 'other.jpg'),
]);

describe.skipIf(chromiumFile === undefined)('several photos of a person', () => {
  const person = (demo: DemoPage, number: 1 | 2) =>
    demo.page.getByRole('region', { name: `Person ${number}`, exact: true });
  const further = (demo: DemoPage, number: 1 | 2) => person(demo, number).getByRole('listitem');
  const open = async () => {
    const demo = await session.open();
    await demo.givePhotos(one.buffer, two.buffer);
    return demo;
  };

  test('are compared as one decision, with the agreement of each photo', async () => {
    const demo = await open();
    await demo.addMore(1, [mirrored]);
    const response = await demo.compare();
    expect(response.photos_compared).toEqual({ image1: 2, image2: 1 });
    expect(await demo.verdict.textContent()).toBe('Match');
    const words = `Fits the others: ${Number(response.image1[0].agreement_percent.toFixed(1))}\u00a0%`;
    expect(await further(demo, 1).textContent()).toContain(words);
    expect(await person(demo, 1).locator('#agreement1').textContent()).toBe(words);
    await demo.page.getByText('Why?').click();
    expect(await demo.page.locator('#result').innerText()).toContain('2 photos of person 1 and 1 of');
    expect(await demo.page.getByText('Pairs of faces').isVisible()).toBe(false);
    expect(await demo.status.textContent()).toMatch(/2 photos of person 1 and 1 of person 2 compared\.$/);
    expect(await demo.curl.textContent()).toContain('-F image1=@one.jpg \\\n  -F image1=@mirrored.jpg');
    await demo.page.getByLabel('Node').check();
    expect(await demo.curl.textContent()).toMatch(/client\.person\(\[.*\], \[.*\], \{/);
  });

  test('can be added and removed by keyboard, leaving one photo of each person', async () => {
    const demo = await open();
    demo.page.on('filechooser', (dialog) => void dialog.setFiles([mirrored]));
    await demo.tabTo('Add another photo of this person, 1');
    await demo.page.keyboard.press('Enter');
    await further(demo, 1).waitFor();
    await demo.slot(2).getByLabel('Choose photo 2').waitFor();
    await demo.page.getByLabel('Choose photo 1').focus();
    await demo.tabTo('Remove photo 2 of person 1');
    await demo.page.keyboard.press('Enter');
    expect(await demo.focused()).toBe('Add another photo of this person, 1');
    expect(await demo.compare()).toMatchObject({ pairs_compared: 1 });
  });

  test('are limited to four, and the second photo replaces the first one when that is removed', async () => {
    const demo = await open();
    await demo.addMore(2, [one, mirrored, two, other]);
    expect(await further(demo, 2).count()).toBe(3);
    expect(await demo.page.getByLabel('Add another photo of this person, 2').isVisible()).toBe(false);
    await person(demo, 2).getByRole('button', { name: 'Remove photo 2', exact: true }).click();
    expect(await person(demo, 2).locator('.caption').textContent()).toContain('one.jpg');
    expect(await further(demo, 2).allTextContents()).toEqual(['✕mirrored.jpg', '✕two.jpg']);
  });

  test('are rejected if they show two people, and the one that does not fit is marked', async () => {
    const demo = await open();
    await demo.addMore(2, [one, other]);
    await demo.compare();
    expect(await demo.problem.textContent()).toContain('photo 3 of person 2 agrees');
    expect(await further(demo, 2).nth(1).textContent()).toMatch(/Does not fit the others: [\d.]+\s%/);
    expect(await further(demo, 2).nth(0).textContent()).toContain('one.jpg');
    expect(await person(demo, 2).locator('.odd').count()).toBe(1);
    expect(await demo.page.locator('.faulty').count()).toBe(0);
    await person(demo, 2).getByRole('button', { name: 'Remove photo 3 of person 2' }).click();
    expect(await demo.problem.isVisible()).toBe(false);
    expect((await demo.compare()).match).toBe(true);
    // The tab for finding faces accepts one photo.
    await demo.page.getByLabel('Find faces').check();
    expect(await demo.page.getByText('Add another photo').first().isVisible()).toBe(false);
  });
});
