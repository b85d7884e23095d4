import { describe, expect, test } from 'vitest';
import { blank, samples } from '../server/support/pictures.ts';
import { jpeg } from './support/demo-page.ts';
import { chromiumFile, Session } from './support/session.ts';

/** What the page does beside comparing two photos. */

const session = new Session();

describe.skipIf(chromiumFile === undefined)('one against many', () => {
  test('shows the best first, with its face, and what is wrong with one that cannot be judged', async () => {
    const demo = await session.open();
    await demo.page.getByLabel('One against many').check();
    await demo.give(1, jpeg(samples.one));
    const others = [
      jpeg(samples.two, 'stranger.jpg'),
      jpeg(Buffer.from('no picture'), 'notes.jpg'),
      jpeg(samples.three, 'friend.jpg'),
    ];
    await demo.page.getByLabel('Add photos to compare with').setInputFiles(others);
    expect(await demo.slot(2).isVisible()).toBe(false);
    const answer = await demo.compare();
    expect(answer.results).toHaveLength(3);
    const rows = demo.page.getByRole('region', { name: '1 of 3 photos match' }).getByRole('row');
    expect(await rows.getByRole('rowheader').allTextContents()).toEqual([
      'friend.jpg',
      'stranger.jpg',
      'notes.jpg',
    ]);
    const texts = await rows.allTextContents();
    expect(texts[1]).toMatch(/%Match: .*1 in .* strangers look this alike$/);
    expect(texts[2]).toMatch(/%No match: /);
    expect(texts[3]).toContain('is text');
    expect(await rows.locator('canvas').count()).toBe(2);
    expect(await demo.status.textContent()).toBe('1 of 3 photos match.');
    expect(await demo.curl.textContent()).toContain('-F image2=@friend.jpg');
    expect(await demo.faces(1).count()).toBe(3);
  });

  test('of one photo without a face is the problem of that photo', async () => {
    const demo = await session.open();
    await demo.page.getByLabel('One against many').check();
    await demo.give(1, jpeg(await blank(300, 200, 'jpeg')));
    await demo.page.getByLabel('Add photos to compare with').setInputFiles([jpeg(samples.two)]);
    await demo.compare();
    expect(await demo.problem.textContent()).toContain('No face was found');
    expect(await demo.slot(1).locator('[aria-invalid="true"]').count()).toBe(1);
    // Without any other photo the problem is theirs.
    await demo.give(1, jpeg(samples.one));
    await demo.page.getByRole('button', { name: 'Remove all' }).click();
    await demo.page.getByRole('button', { name: 'Compare', exact: true }).click();
    expect(await demo.page.locator('#others-fault').textContent()).toBe('Choose a photo first.');
    demo.forgive();
  });
});

describe.skipIf(chromiumFile === undefined)('the faces of a photo', () => {
  test('have their details in a table, and their places in the photo', async () => {
    const demo = await session.open();
    await demo.page.getByLabel('Faces of a photo').check();
    await demo.give(1, jpeg(samples.one));
    const answer = await demo.answerTo(() => demo.page.getByRole('button', { name: 'Find faces' }).click());
    const { faces } = answer.image;
    const table = demo.page.getByRole('region', { name: '3 faces' });
    const texts = await table.getByRole('row').allTextContents();
    expect(texts).toHaveLength(1 + faces.length);
    for (const [i, { human_score, quality }] of faces.entries()) {
      expect(texts[i + 1]).toContain(human_score.toFixed(1));
      expect(texts[i + 1]).toContain(`${quality.face_pixels} px`);
    }
    expect(await demo.faces(1).count()).toBe(faces.length);
    expect(await demo.page.getByLabel('Threshold').isVisible()).toBe(false);
    // Back: what was found is forgotten, and two photos can be compared.
    await demo.page.getByLabel('Two photos').check();
    expect(await table.isVisible()).toBe(false);
    await demo.give(2, jpeg(samples.three));
    expect((await demo.compare()).match).toBe(true);
  });
});
