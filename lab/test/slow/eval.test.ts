import { cpSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { sharedFolder } from '../../../test/fixtures/images.ts';
import { uncalibratedPack } from '../../../test/fixtures/packs.ts';
import { expectFailure, facematch, facematchInHost } from '../../../test/server/support/cli.ts';
import type { Json } from '../../../test/server/support/client.ts';
import { evalFolder, hostile } from '../support/eval-folder.ts';
import { type Element, readHtml } from '../support/html.ts';

const shared = sharedFolder();
let folder: string;
beforeAll(async () => {
  folder = await evalFolder();
});

const evaluate = (line: string, env?: NodeJS.ProcessEnv) =>
  facematchInHost(`eval --mode fast ${line}`, folder, env);

const read = (...path: string[]) => readFileSync(join(folder, ...path), 'utf8');
const textsOf = (elements: readonly Element[], element: string) =>
  elements.filter(({ name }) => name === element).map(({ text }) => text);

describe('facematch eval', () => {
  test('prints the results at the default threshold first, and no rate that the pairs cannot show', async () => {
    const { code, stdout, stderr } = await facematch('eval --mode fast few.tsv --images images', folder);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n').slice(0, 5)).toEqual([
      'At 70 %: 0 of 5 non-mated pairs matched, 3 of 3 mated pairs matched.',
      '',
      'few: 3 mated pairs (same person), 5 non-mated (different people); mode fast',
      expect.stringMatching(/^cohort +the pack's/),
      'too few pairs      an FMR of 1 in 100 or lower needs at least 100 non-mated pairs',
    ]);
    expect(stdout).toMatch(
      /^ {2}70 %, stated 1 in 10,000 +-?\d\.\d{3} +70\.0 % +0 of 5 \[0\.00, \d+\.\d\d\] % +0 of 3 \[0\.00, 56\.15\] % +0\.00 % +0\.00 %$/m,
    );
    expect(stdout).not.toMatch(/The same thresholds on all|at most 1 in/);
  });

  test.each<[line: string, code: number, message: string]>([
    ['--json', 2, 'give a list of pairs, or --people NAME=DIR'],
    ['few.tsv --images images --groups sex', 2, 'require --people'],
    ['--people a=listed --groups sex,', 2, 'such as origin*sex,age'],
    ['--people a=listed --groups hair', 1, 'Available labels: age, sex.'],
    ['--people a=images --groups sex', 1, 'There are no labels.'],
    ['--people a=listed --same-person-above 0', 2, 'above 0 and at most 1'],
    ['--people a=listed --same-person-above x', 2, 'above 0'],
    ['--people a=listed a=images', 2, 'two sets have the name a'],
    ['--people a=none', 1, 'The folder none cannot be read (ENOENT).'],
    ['few.tsv', 2, 'the folder of the images of few is missing'],
    ['few.tsv ./few.tsv --images images', 2, 'two sets have the name few'],
    ['none.tsv --images images', 1, 'none.tsv cannot be read (ENOENT)'],
    ['few.tsv --images listed', 1, 'has none of the images that few.tsv'],
    ['few.tsv --images images --report few.tsv', 1, 'Cannot create the folder few.tsv (EEXIST)'],
    ['few.tsv --images images --report images', 1, 'contains files that are not a report'],
    ['few.tsv --images images --held-out-cohort', 1, 'too few people for a cohort'],
  ])('exits on %s with %i', async (line, code, message) => {
    expectFailure(await evaluate(line), code, message);
  });

  test('counts a missing image as unreadable', async () => {
    const few = readFileSync(join(folder, 'few.tsv'), 'utf8');
    writeFileSync(join(folder, 'gone.tsv'), `${few}gone.jpg\tgone.jpg\t0\n`);
    cpSync(join(folder, 'images/nobody'), join(folder, 'lone'), { recursive: true });
    writeFileSync(join(folder, 'lone/people.tsv'), 'image\tsex\ngone.jpg\tF\nblank.png\tF\n');
    const { code, stdout, stderr } = await evaluate('gone.tsv --images images --people p=lone --json');
    const { failures, people, pairs, not_compared }: Json = JSON.parse(stdout);
    const gone = { 'gone.jpg': 'the file does not exist' };
    expect([failures, people[0].failures, stderr]).toEqual([gone, gone, '']);
    expect([code, pairs, not_compared]).toEqual([1, { mated: 3, non_mated: 5 }, 1]);
  });

  test('measures the cosines of an uncalibrated pack, and reports that it has no percentages', async () => {
    const env = { FACEMATCH_PACK: uncalibratedPack(folder) };
    const many = await evaluate('<b>.tsv --images images --report cosines', env);
    expect(many.stdout).toMatch(
      /^At a cosine of \d\.\d{3}: \d of \d+ non-mated pairs matched, 10 of 10 mated pairs matched\. 1 pair was not compared, because an image has no face\. 1 pair was not compared, because an image could not/,
    );
    expect(many.stdout).not.toContain('stated');
    const few = await evaluate('few.tsv --images images', env);
    expect(few.stdout).toMatch(/^The pack is not calibrated, and there are too few pairs/);
    expectFailure(await evaluate('--people staff=listed', env), 1, 'uncalibrated is not calibrated');
  });

  describe('facematch eval with labelled people only', () => {
    test('reports the error rates of each group', async () => {
      const { code, stdout, stderr } = await evaluate('--people staff=listed --groups age*sex,sex');
      expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
      expect(stdout).toContain('staff: 11 people, 21 images; mode fast');
      expect(stdout).toMatch(/^without a face +1 of 21 images: images\/nobody\/blank\.png$/m);
      expect(stdout).toMatch(
        /^could not be read +1: images\/nobody\/notes\.jpg \(unsupported_image_format\)$/m,
      );
      expect(stdout).toMatch(/^ {2}non-mated pairs of +people +pairs +50 %, stated 1 in 100 +60 %/m);
      // Five people of each sex have two images each, which are 40 non-mated pairs. The sixth of sex F has no face.
      expect(stdout).toMatch(/^ {2}sex F +6 +40 +none: at most \d\d /m);
      expect(stdout).toMatch(/^ {2}sex M +5 +0\.00 % \[0\.00, 43\.45\] /m);
      expect(stdout).toMatch(/^ {2}sex F +6 +11 +9\.09 % \[/m);
    });

    test('omits pairs that count as one person, and treats folders without a list as one group', async () => {
      const { stdout } = await evaluate('--people staff=images --same-person-above 0.01 --json');
      const [{ everybody, groupings, same_person_above }]: Json[] = JSON.parse(stdout).people;
      expect([groupings, same_person_above]).toEqual([[], 0.01]);
      expect(everybody.taken_for_one_person).toBeGreaterThan(0);
      // 190 pairs of images, of which 10 are mated.
      expect(everybody.by_percent[0].fmr.trials + everybody.taken_for_one_person).toBe(180);
    });
  });

  test.skipIf(!shared)(
    'excludes the compared people from the cohort with --held-out-cohort',
    { timeout: 300_000 },
    async () => {
      const text = readFileSync(join(shared!, 'data/lfw-dev/pairs.tsv'), 'utf8');
      const [header, ...lines] = text.trimEnd().split('\n');
      // Keeps every 20th pair: as many mated as non-mated pairs, from all folds.
      writeFileSync(join(folder, 'lfw.tsv'), [header, ...lines.filter((_, i) => i % 20 === 0)].join('\n'));
      const set = `lfw=lfw.tsv:${join(shared!, 'data/lfw-dev/images')}`;
      const judged = async (line: string): Promise<Json> => JSON.parse((await evaluate(line)).stdout);
      const [own, heldOut] = [await judged(`${set} --json`), await judged(`${set} --json --held-out-cohort`)];
      expect([own.cohort, heldOut.cohort]).toEqual(['pack', 'held-out']);
      expect(heldOut.by.cosine).toEqual(own.by.cosine);
      expect(heldOut.by.normalised).not.toEqual(own.by.normalised);
      expect(heldOut.by.normalised.accuracy.mean).toBeGreaterThan(0.97);
    },
  );
});

test.each([
  ['staff=listed --groups hair', 'No people.tsv has the labels hair. Available labels: age, sex.'],
  ['few=images', 'of 1 in 200: the largest group has 11, but needs at least 64'],
])('reports errors of facematch calibrate %s before it embeds anything', async (line, message) => {
  expectFailure(await facematchInHost(`calibrate ${line}`, folder), 1, message);
});

describe('the report of facematch eval', () => {
  describe('of one set', () => {
    let printed: string;
    let page: string;
    let elements: Element[];

    beforeAll(async () => {
      const { code, stdout, stderr } = await evaluate('<b>.tsv --images images --report report --json');
      expect({ code, stderr }).toEqual({ code: 1, stderr: 'The report is report/index.html\n' });
      printed = stdout;
      // The report must still open after its folder was moved.
      renameSync(join(folder, 'report'), join(folder, 'moved'));
      page = read('moved/index.html');
      elements = readHtml(page);
    });

    test('writes the figures of --json next to the page', () => {
      expect(read('moved/figures.json')).toBe(printed);
      expect(JSON.parse(printed)).toMatchObject({
        set: '<b>',
        mode: 'fast',
        cohort: 'pack',
        pack: { name: 'default' },
        pairs: { mated: 10, non_mated: 135 },
        not_compared: 1,
        not_acquired: { mated: 0, non_mated: 1 },
        images: 22,
        without_face: ['nobody/blank.png'],
        failures: { 'nobody/notes.jpg': 'unsupported_image_format' },
      });
    });

    test('runs no script, and loads only the copies next to it', () => {
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

    test('escapes names', () => {
      expect(page).not.toContain('<img src=x');
      expect(textsOf(elements, 'bdi')).toContain(`photo1-face0/${hostile}`);
      expect(textsOf(elements, 'h2')).toEqual(['<b>']);
    });

    test('removes only the copies of an earlier report that it does not show', async () => {
      const before = readdirSync(join(folder, 'moved/images'));
      // Only one image has an EXIF orientation by which the report must rotate it.
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

  test.each(['non-mated', 'alike'])(
    'shows dashes for unknown rates of pairs of one kind, %s',
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

  test('shows each of several sets, and the effect of every threshold on all', async () => {
    const several = 'all=<b>.tsv:images few=few.tsv --images images --report several --json';
    const { code, stdout } = await evaluate(several);
    expect(code).toBe(1);
    const { sets, shared_thresholds }: Json = JSON.parse(stdout);
    expect(sets.map(({ set, pairs }: Json) => [set, pairs.mated])).toEqual([
      ['all', 10],
      ['few', 3],
    ]);
    // Three percentages for the normalised similarity, and for each score the one rate that 135 non-mated pairs can
    // show.
    expect(shared_thresholds).toHaveLength(3 + 1 + 1);
    const elements = readHtml(read('several/index.html'));
    const cells = textsOf(elements, 'td');
    const counted = (rate: number, trials: number, [low, high]: [number, number]) =>
      `${Math.round(rate * trials)} of ${trials} [${(low * 100).toFixed(2)}, ${(high * 100).toFixed(2)}] %`;
    for (const { threshold, sets: observed } of shared_thresholds) {
      expect(cells).toContain(threshold.toFixed(3));
      for (const { set, pairs } of sets) {
        const { fmr, fmr_interval, fnmr, fnmr_interval } = observed[set];
        expect(cells).toContain(counted(fmr, pairs.non_mated, fmr_interval));
        expect(cells).toContain(counted(fnmr, pairs.mated, fnmr_interval));
      }
    }
    expect(textsOf(elements, 'h2')).toEqual(['All sets', 'all', 'few']);
    const own = shared_thresholds.find(({ chosen_on, by }: Json) => chosen_on === 'all' && by === 'cosine');
    expect(own.sets.all.fnmr).toBe(sets[0].by.cosine.operating_points[0].fnmr);
  });

  test('shows each rate of each group of labelled people, as a table and as a chart', async () => {
    const { code, stdout, stderr } = await evaluate('--people staff=listed --report people --json');
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'The report is people/index.html\n' });
    expect(read('people/figures.json')).toBe(stdout);
    const [{ everybody, groupings, worst }]: Json = JSON.parse(stdout).people;
    const page = read('people/index.html');
    const elements = readHtml(page);
    const groups = [everybody, ...groupings.flatMap((one: Json) => one.groups)];
    // No image with a face has the age of the image without a face.
    expect(groups.filter(({ by_percent }) => by_percent[0].fmr.trials === 0)).toHaveLength(1);
    // The report has the tables of the terminal.
    expect(textsOf(elements, 'th').filter((text) => text === 'sex F')).toHaveLength(3);
    expect(textsOf(elements, 'td')).toContain('–');
    // Three charts each for age and for sex, with the whole set and its groups.
    const names = textsOf(elements, 'text');
    for (const group of ['age 3-9', 'age <b>20+', 'sex F', 'sex M']) {
      expect(names.filter((text) => text === group)).toHaveLength(3);
    }
    expect(names.filter((text) => text === 'staff')).toHaveLength(6);
    expect(page).not.toContain('<b>');
    expect(page).not.toMatch(/NaN|Infinity/);
    const shown = worst.non_mated.flatMap(({ image1, image2 }: Json) => [image1, image2]);
    expect(textsOf(elements, 'bdi')).toEqual(expect.arrayContaining(shown));
    const shownImages = elements.flatMap(({ attributes }) => attributes.get('src') ?? []);
    expect(shownImages.length).toBeGreaterThan(2 * worst.non_mated.length);
    for (const file of shownImages) expect(existsSync(join(folder, 'people', file))).toBe(true);
  });
});
