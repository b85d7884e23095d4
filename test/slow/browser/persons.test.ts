import type { Sharp } from 'sharp';
import { describe, expect, test } from 'vitest';
import { cutOuts } from '../../support/portraits.mjs';
import type { DemoPage } from './support/demo-page.ts';
import { jpeg } from './support/demo-page.ts';
import { chromiumFile, Session } from './support/session.ts';

/** Several photos of each person lead to one decision. */

const [first, again, stranger] = cutOuts() as [Sharp, Sharp, Sharp];
const photo = async (image: Sharp, name: string) => jpeg(await image.clone().jpeg().toBuffer(), name);
const [one, mirrored, two, other] = await Promise.all([
  photo(first, 'one.jpg'),
  photo(first.clone().flop(), 'mirrored.jpg'),
  photo(again, 'two.jpg'),
  photo(stranger, 'other.jpg'),
]);

describe.skipIf(chromiumFile === undefined)('several photos of a person', () => {
  const session = new Session();
  const person = (demo: DemoPage, number: 1 | 2) =>
    demo.page.getByRole('region', { name: `Person ${number}`, exact: true });
  const further = (demo: DemoPage, number: 1 | 2) => person(demo, number).getByRole('listitem');
  const open = async () => {
    const demo = await session.open();
    await demo.givePhotos(one.buffer, two.buffer);
    return demo;
  };

  test('are one decision, which says how well each fits the others', async () => {
    const demo = await open();
    await demo.addMore(1, [mirrored]);
    const answer = await demo.compare();
    expect(answer.photos_compared).toEqual({ image1: 2, image2: 1 });
    expect(await demo.verdict.textContent()).toBe('Match');
    const words = `Fits the others: ${Number(answer.image1[0].agreement_percent.toFixed(1))}\u00a0%`;
    expect(await further(demo, 1).textContent()).toContain(words);
    expect(await person(demo, 1).locator('#agreement1').textContent()).toBe(words);
    expect(await demo.page.locator('#result').innerText()).toContain(
      '2 photos of person 1 and 1 of person 2',
    );
    expect(await demo.page.getByText('Pairs of faces').isVisible()).toBe(false);
    expect(await demo.status.textContent()).toMatch(/2 photos of person 1 and 1 of person 2 compared\.$/);
    expect(await demo.curl.textContent()).toContain('-F image1=@one.jpg \\\n  -F image1=@mirrored.jpg');
    await demo.page.getByLabel('Node').check();
    expect(await demo.curl.textContent()).toMatch(/client\.person\(\[.*\], \[.*\], \{/);
  });

  test('are added and taken away by keyboard, and what is left is two photos again', async () => {
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

  test('are four at most, and the next takes the place of the first', async () => {
    const demo = await open();
    await demo.addMore(2, [one, mirrored, two, other]);
    expect(await further(demo, 2).count()).toBe(3);
    expect(await demo.page.getByLabel('Add another photo of this person, 2').isVisible()).toBe(false);
    await person(demo, 2).getByRole('button', { name: 'Remove photo 2', exact: true }).click();
    expect(await person(demo, 2).locator('.caption').textContent()).toContain('one.jpg');
    expect(await further(demo, 2).allTextContents()).toEqual(['✕mirrored.jpg', '✕two.jpg']);
  });

  test('of two people are refused in plain words, at the photos themselves', async () => {
    const demo = await open();
    await demo.addMore(2, [one, other]);
    await demo.compare();
    expect(await demo.problem.textContent()).toContain('Somebody else may be on photo 3 of person 2.');
    expect(await further(demo, 2).nth(1).textContent()).toMatch(/Does not fit the others: [\d.]+\s%/);
    expect(await further(demo, 2).nth(0).textContent()).toContain('one.jpg');
    expect(await person(demo, 2).locator('.odd').count()).toBe(1);
    expect(await demo.page.locator('.faulty').count()).toBe(0);
    await person(demo, 2).getByRole('button', { name: 'Remove photo 3 of person 2' }).click();
    expect(await demo.problem.isVisible()).toBe(false);
    expect((await demo.compare()).match).toBe(true);
    // The other tabs take one photo of each.
    await demo.page.getByLabel('Faces of a photo').check();
    expect(await demo.page.getByText('Add another photo').first().isVisible()).toBe(false);
  });
});
