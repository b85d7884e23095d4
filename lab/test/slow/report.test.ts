import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { facematch } from '../../../test/server/support/cli.ts';
import type { Json } from '../../../test/server/support/client.ts';
import { evalFolder, hostile } from '../support/eval-folder.ts';
import { type Element, readHtml } from '../support/html.ts';

let folder: string;
beforeAll(async () => {
  folder = await evalFolder();
});

const evaluate = (line: string) => facematch(`eval --mode fast ${line}`, folder);
const read = (...path: string[]) => readFileSync(join(folder, ...path), 'utf8');
const textsOf = (elements: readonly Element[], element: string) =>
  elements.filter(({ name }) => name === element).map(({ text }) => text);

describe('the report of facematch eval', () => {
  describe('of one set', () => {
    let printed: string;
    let page: string;
    let elements: Element[];

    beforeAll(async () => {
      const { code, stdout, stderr } = await evaluate('<b>.tsv --images images --report report --json');
      expect({ code, stderr }).toEqual({ code: 1, stderr: 'The report is report/index.html\n' });
      printed = stdout;
      // What still opens when the folder was moved.
      renameSync(join(folder, 'report'), join(folder, 'moved'));
      page = read('moved/index.html');
      elements = readHtml(page);
    });

    test('writes the figures of --json beside the page', () => {
      expect(read('moved/figures.json')).toBe(printed);
      expect(JSON.parse(printed)).toMatchObject({
        set: '<b>',
        mode: 'fast',
        cohort: 'pack',
        pack: { name: 'default' },
        pairs: { same: 10, different: 136 },
        not_compared: 1,
        images: 22,
        without_face: ['nobody/blank.png'],
        failures: { 'nobody/notes.jpg': 'unsupported_image_format' },
      });
    });

    test('runs no script, and loads nothing but the copies beside it', () => {
      expect(page).not.toMatch(/https?:|javascript:|@import|url\(/i);
      const names = new Set(elements.map(({ name }) => name));
      for (const name of ['script', 'iframe', 'object', 'form', 'base']) expect(names).not.toContain(name);
      const attributes = elements.flatMap(({ attributes }) => [...attributes.keys()]);
      expect(attributes.filter((name) => name.startsWith('on'))).toEqual([]);
      const ids = new Set(elements.map(({ attributes }) => attributes.get('id')));
      const linking = ['href', 'src'];
      const links = elements.flatMap(({ attributes }) =>
        linking.flatMap((name) => attributes.get(name) ?? []),
      );
      for (const link of links) {
        if (link.startsWith('#')) expect(ids).toContain(link.slice(1));
        else expect(link === 'data:,' || existsSync(join(folder, 'moved', link))).toBe(true);
      }
      expect(links.filter((link) => link.startsWith('images/')).length).toBeGreaterThan(40);
    });

    test('escapes what stands in names', () => {
      expect(page).not.toContain('<img src=x');
      expect(textsOf(elements, 'bdi')).toContain(`photo1-face0/${hostile}`);
      expect(textsOf(elements, 'h2')).toEqual(['<b>']);
    });

    test('a second report takes away the copies that it does not show, and nothing else', async () => {
      const before = readdirSync(join(folder, 'moved/images'));
      // The one that only its EXIF orientation turns upright.
      const turned = before.filter((name) => name.endsWith('.svg'));
      expect(turned).toHaveLength(1);
      expect(read('moved/images', turned[0]!)).toContain('transform="matrix(0 1 -1 0 90 0)"');
      writeFileSync(join(folder, 'moved/images/mine.jpg'), '');
      const { code } = await evaluate('few.tsv --images images --report moved');
      expect(code).toBe(0);
      const after = readdirSync(join(folder, 'moved/images'));
      expect(after).toContain('mine.jpg');
      expect(after).not.toContain(turned[0]);
      expect(after.length).toBeLessThan(before.length);
      expect(before).toEqual(expect.arrayContaining(after.filter((name) => name !== 'mine.jpg')));
    });
  });

  test.each(['strangers', 'alike'])(
    'of pairs of one kind alone, %s, is dashes where nothing is known',
    async (name) => {
      const { code, stderr } = await evaluate(`${name}.tsv --images images --report ${name}`);
      expect({ code, stderr }).toEqual({ code: 0, stderr: `The report is ${name}/index.html\n` });
      const elements = readHtml(read(name, 'index.html'));
      expect(textsOf(elements, 'td').filter((text) => text.startsWith('–')).length).toBeGreaterThan(3);
      expect(elements.flatMap(({ attributes }) => [...attributes.values()]).join(' ')).not.toMatch(
        /NaN|Infinity/,
      );
    },
  );

  test('of several sets shows each, and what every threshold does to all', async () => {
    const several = 'all=<b>.tsv:images few=few.tsv --images images --report several --json';
    const { code, stdout } = await evaluate(several);
    expect(code).toBe(1);
    const { sets, shared_thresholds }: Json = JSON.parse(stdout);
    expect(sets.map(({ set, pairs }: Json) => [set, pairs.same])).toEqual([
      ['all', 10],
      ['few', 3],
    ]);
    // By the normalised similarity three percents, and by each score the one rate that 137 pairs of strangers show.
    expect(shared_thresholds).toHaveLength(3 + 1 + 1);
    const elements = readHtml(read('several/index.html'));
    const cells = textsOf(elements, 'td');
    const counted = (rate: number, trials: number, [low, high]: [number, number]) =>
      `${Math.round(rate * trials)} of ${trials} [${(low * 100).toFixed(2)}, ${(high * 100).toFixed(2)}] %`;
    for (const { threshold, sets: observed } of shared_thresholds) {
      expect(cells).toContain(threshold.toFixed(3));
      for (const { set, pairs } of sets) {
        const { tar, tar_interval, measured_fmr, fmr_interval } = observed[set];
        expect(cells).toContain(counted(tar, pairs.same, tar_interval));
        expect(cells).toContain(counted(measured_fmr, pairs.different, fmr_interval));
      }
    }
    expect(textsOf(elements, 'h2')).toEqual(['All sets', 'all', 'few']);
    const own = shared_thresholds.find(({ chosen_on, by }: Json) => chosen_on === 'all' && by === 'cosine');
    expect(own.sets.all.tar).toBe(sets[0].by.cosine.operating_points[0].tar);
  });

  test('of labelled people shows each rate of each group, as a table and as a chart', async () => {
    const { code, stdout, stderr } = await evaluate('--people staff=listed --report people --json');
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'The report is people/index.html\n' });
    expect(read('people/figures.json')).toBe(stdout);
    const [{ everybody, groupings, worst }]: Json = JSON.parse(stdout).people;
    const page = read('people/index.html');
    const elements = readHtml(page);
    const groups = [everybody, ...groupings.flatMap((one: Json) => one.groups)];
    // The age of the one whose image has no face is nobody else's.
    expect(groups.filter(({ by_percent }) => by_percent[0].false_match.trials === 0)).toHaveLength(1);
    // The tables are those of the terminal.
    expect(textsOf(elements, 'th').filter((text) => text === 'sex F')).toHaveLength(3);
    expect(textsOf(elements, 'td')).toContain('–');
    // For age and for sex: three charts, each with the set and two groups.
    const names = textsOf(elements, 'text');
    for (const group of ['age 3-9', 'age <b>20+', 'sex F', 'sex M']) {
      expect(names.filter((text) => text === group)).toHaveLength(3);
    }
    expect(names.filter((text) => text === 'staff')).toHaveLength(6);
    expect(page).not.toContain('<b>');
    expect(page).not.toMatch(/NaN|Infinity/);
    const shown = worst.different.flatMap(({ image1, image2 }: Json) => [image1, image2]);
    expect(textsOf(elements, 'bdi')).toEqual(expect.arrayContaining(shown));
    const shownImages = elements.flatMap(({ attributes }) => attributes.get('src') ?? []);
    expect(shownImages.length).toBeGreaterThan(2 * worst.different.length);
    for (const file of shownImages) expect(existsSync(join(folder, 'people', file))).toBe(true);
  });
});
