import { cpSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { packDirectory, readManifest, verifyPack } from '../../src/engine/manifest.ts';
import { samples, sharedFolder } from '../fixtures/pictures.ts';
import { program, run } from './support/cli.ts';
import type { Json } from './support/client.ts';
import { evalFolder } from './support/eval-folder.ts';

let folder: string;
beforeAll(async () => {
  folder = await evalFolder();
});

const evaluate = (...args: string[]) => run(program, ['eval', '--mode', 'fast', ...args], folder);

describe('facematch eval', () => {
  test('in words begins with what happens at the percent of a match, and prints no rate that is not shown', async () => {
    const { code, stdout, stderr } = await evaluate('few.tsv', '--images', 'images');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n').slice(0, 5)).toEqual([
      'At 70 %: 0 of 5 pairs of strangers passed, 3 of 3 pairs of one person were recognised.',
      '',
      'few: 3 same, 5 different pairs; mode fast',
      expect.stringMatching(/^cohort +the pack's/),
      'too few strangers  to show 1 in 100 or less: that takes 100 pairs of them',
    ]);
    expect(stdout).toMatch(
      /^ {2}70 %, stated 1 in 10,000 +-?\d\.\d{3} +70\.0 % +0 of 5 \[0\.00, 43\.45\] % +3 of 3 \[43\.85, 100\.00\] %$/m,
    );
    expect(stdout).not.toMatch(/One threshold for all|at most 1 in/);
  });

  test.each([
    { args: [], code: 2, message: 'give a list of pairs, or --people NAME=DIR' },
    { args: ['few.tsv', '--images', 'images', '--groups', 'sex'], code: 2, message: 'are about --people' },
    { args: ['few.tsv', '--same-person-above', '0.6'], code: 2, message: 'are about --people' },
    { args: ['--people', 'a=listed', '--groups', 'sex,'], code: 2, message: 'such as origin*sex,age' },
    { args: ['--people', 'a=listed', '--groups', 'hair'], code: 1, message: 'there are age, sex.' },
    { args: ['--people', 'a=images', '--groups', 'sex'], code: 1, message: 'there are none.' },
    {
      args: ['--people', 'a=listed', '--same-person-above', '0'],
      code: 2,
      message: 'above 0, and at most 1',
    },
    { args: ['--people', 'a=listed', '--same-person-above', '1.1'], code: 2, message: 'at most 1' },
    { args: ['--people', 'a=listed', '--same-person-above', 'x'], code: 2, message: 'above 0' },
    { args: ['--people', 'a=listed', 'a=images'], code: 2, message: 'two sets are named a' },
    { args: ['--people', 'a=none'], code: 1, message: 'The folder none cannot be read (ENOENT).' },
    { args: ['few.tsv'], code: 2, message: 'where are the images of few?' },
    { args: ['few.tsv', './few.tsv', '--images', 'images'], code: 2, message: 'two sets are named few' },
    { args: ['none.tsv', '--images', 'images'], code: 1, message: 'none.tsv cannot be read (ENOENT)' },
    { args: ['few.tsv', '--images', 'listed'], code: 1, message: 'has none of the images that few.tsv' },
    {
      args: ['few.tsv', '--images', 'images', '--report', 'few.tsv'],
      code: 1,
      message: 'cannot be made (EEXIST)',
    },
    {
      args: ['few.tsv', '--images', 'images', '--report', 'images'],
      code: 1,
      message: 'holds files that are not a report',
    },
    {
      args: ['few.tsv', '--images', 'images', '--held-out-cohort'],
      code: 1,
      message: 'too few people to make a cohort',
    },
  ])('$args exits with $code', async ({ args, code, message }) => {
    const outcome = await evaluate(...args);
    expect(outcome.stderr).toContain(message);
    expect({ code: outcome.code, stdout: outcome.stdout }).toEqual({ code, stdout: '' });
  });

  test('takes lists of Windows, and counts a file that is not there as one that cannot be read', async () => {
    const [header, ...lines] = readFileSync(join(folder, 'few.tsv'), 'utf8').trimEnd().split('\n');
    const latin1 = (path: string) => Buffer.from(path, 'latin1');
    cpSync(join(folder, 'images'), join(folder, 'windows/images'), { recursive: true });
    const [picture, other] = lines[0]!.split('\t') as [string, string];
    renameSync(join(folder, 'windows/images', picture), latin1(join(folder, 'windows/images/M\xfcller.png')));
    const list = [...lines, `gone.jpg\t${other}\t0`, ''].join('\r\n').replaceAll(picture, 'M\xfcller.png');
    writeFileSync(join(folder, 'windows/few.tsv'), latin1(`${header}\r\n${list.replaceAll('/', '\\')}`));
    writeFileSync(
      join(folder, 'windows/people.tsv'),
      '\ufeffimage\tsex\ngone.jpg\tF\nimages\\nobody\\blank.png\tF\n',
    );
    const sets = ['windows/few.tsv', '--images', 'windows/images', '--people', 'p=windows'];
    const { stdout, stderr } = await evaluate(...sets, '--json');
    const { failures, without_face, people }: Json = JSON.parse(stdout);
    const gone = { 'gone.jpg': 'there is no such file' };
    expect([failures, people[0].failures, without_face, stderr]).toEqual([gone, gone, [], '']);
  });

  describe('of labelled people alone', () => {
    const percents = (figures: Json) => figures.by_percent.map(({ percent }: Json) => percent);

    test('says how often each group meets each error', async () => {
      const { code, stdout, stderr } = await evaluate('--people', 'staff=listed', '--groups', 'age*sex,sex');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain('staff: 11 people, 21 images; mode fast');
      expect(stdout).toMatch(/^without a face +1 of 21 images: images\/nobody\/blank\.png$/m);
      expect(stdout).toMatch(
        /^could not be read +1: images\/nobody\/notes\.jpg \(unsupported_image_format\)$/m,
      );
      expect(stdout).toMatch(/^ {2}strangers of +people +pairs +50 %, stated 1 in 100 +60 %/m);
      // Five people of each sex have two pictures each, which are 40 pairs of strangers; the sixth has no face.
      expect(stdout).toMatch(/^ {2}sex F +6 +40 +none: at most 8\.8 /m);
      expect(stdout).toMatch(/^ {2}sex M +5 +0\.00 % \[0\.00, 43\.45\] /m);
      expect(stdout).toMatch(/^ {2}sex F +6 +11 +9\.09 % \[/m);
    });

    test('as JSON has the same, with what was taken for one person', async () => {
      const args = ['--people', 'staff=listed', '--same-person-above', '0.01', '--json'];
      const { code, stdout } = await evaluate(...args);
      expect(code).toBe(0);
      const { pack, people }: Json = JSON.parse(stdout);
      expect(pack.name).toBe('default');
      const [{ everybody, groupings, same_person_above }] = people;
      expect(same_person_above).toBe(0.01);
      expect(groupings.map(({ grouping }: Json) => grouping)).toEqual(['age', 'sex']);
      expect(percents(everybody)).toEqual([50, 60, 70]);
      // 190 pairs of pictures, of which 10 are of one person.
      const { false_match, false_non_match, promised } = everybody.by_percent[0];
      expect(everybody.taken_for_one_person).toBeGreaterThan(0);
      expect(false_match.trials + everybody.taken_for_one_person).toBe(180);
      expect(false_non_match.trials).toBe(10);
      expect(promised).toBe(0.01);
    });

    test('in folders, without a list, is one group', async () => {
      const { code, stdout } = await evaluate(
        'few.tsv',
        '--images',
        'images',
        '--people',
        'staff=images',
        '--json',
      );
      expect(code).toBe(0);
      const { set, people }: Json = JSON.parse(stdout);
      expect(set).toBe('few');
      expect(people[0].groupings).toEqual([]);
      expect(people[0].everybody.by_percent[0].false_match.trials).toBe(180);
    });
  });

  const shared = sharedFolder();
  test.skipIf(!shared)(
    'with --held-out-cohort judges people by cohorts that they are not in',
    { timeout: 300_000 },
    async () => {
      const [header, ...lines] = readFileSync(join(shared!, 'data/lfw-dev/pairs.tsv'), 'utf8')
        .trimEnd()
        .split('\n');
      // Every fourth: as many of one person as of different ones, out of all folds.
      writeFileSync(join(folder, 'lfw.tsv'), [header, ...lines.filter((_, i) => i % 4 === 0)].join('\n'));
      const set = `lfw=lfw.tsv:${join(shared!, 'data/lfw-dev/images')}`;
      const [own, heldOut] = [
        await evaluate(set, '--json'),
        await evaluate(set, '--json', '--held-out-cohort'),
      ].map(({ stdout }): Json => JSON.parse(stdout));
      expect([own.cohort, heldOut.cohort]).toEqual(['pack', 'held-out']);
      expect(heldOut.by.cosine).toEqual(own.by.cosine);
      expect(heldOut.by.normalised).not.toEqual(own.by.normalised);
      expect(heldOut.by.normalised.accuracy.mean).toBeGreaterThan(0.97);
    },
  );
});

test.each([
  [['--groups', 'hair'], 1, 'No people.tsv has the labels hair: there are age, sex.'],
  [['--groups', '*'], 2, 'such as origin*sex,age'],
  [['--same-person-above', '2'], 2, 'at most 1'],
])('facematch calibrate with %j exits with %i', async (args, code, message) => {
  const outcome = await run(program, ['calibrate', 'staff=listed', ...args], folder);
  expect({ code: outcome.code, stdout: outcome.stdout }).toEqual({ code, stdout: '' });
  expect(outcome.stderr).toContain(message);
});

test('facematch calibrate of too few people writes nothing, and says why', async () => {
  const pack = join(folder, 'pack');
  cpSync(packDirectory('default'), pack, { recursive: true });
  const before = readFileSync(join(pack, 'manifest.json'), 'utf8');
  const people = join(folder, 'people');
  cpSync(join(folder, 'images'), people, { recursive: true, filter: (path) => !path.includes('nobody') });
  const { code, stdout, stderr } = await run(program, ['calibrate', `few=${people}`, '--write'], folder, {
    FACEMATCH_PACK: pack,
  });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    /There are too few people to show a false-match rate of 1 in 1,000: 10 in the largest group, and at least 54 are needed/,
  );
  expect(readFileSync(join(pack, 'manifest.json'), 'utf8')).toBe(before);
});

const people = sharedFolder();
test.skipIf(!people)(
  'facematch calibrate --write leaves a pack whole, with cohort, human check and tables of its own',
  { timeout: 600_000 },
  async () => {
    const pack = join(folder, 'calibrated');
    cpSync(packDirectory('default'), pack, { recursive: true });
    const before = readManifest(pack);
    const data = (name: string) => join(people!, 'data', name);
    const env = { FACEMATCH_PACK: pack };
    const calibrate = (...options: string[]) =>
      run(program, ['calibrate', `ages=${data('ages-dev/images')}`, '--write', ...options], folder, env);

    // So few people that strangers of their groups reach 70 percent more often than the table says.
    const refused = await calibrate('--check');
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Nothing was written, because'),
    });
    expect(refused.stdout).toMatch(
      /^balance: the check contradicts .* reach \d0 percent [\d.]+ times as often as .* takes about [\d,]+ more people than its \d+\.$/m,
    );
    expect(refused.stdout).toMatch(/^ {2}group +percent +stated +measured +95 % interval /m);
    expect(readManifest(pack)).toEqual(before);

    const { code, stderr } = await calibrate(
      '--check',
      '--force',
      '--without-people',
      data('negatives-animals'),
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'Written into the pack default\n' });
    const after = readManifest(pack);
    await verifyPack(pack, after);
    expect(after.cohort!.sha256).not.toBe(before.cohort!.sha256);
    expect(after.human!.sha256).not.toBe(before.human!.sha256);
    for (const mode of ['fast', 'balance'] as const) {
      expect(after.calibration[mode].fitted_on).toMatch(/^ages: \d+ images of \d+ people/);
      expect(after.calibration[mode].points).not.toEqual(before.calibration[mode].points);
    }
    const [one, other] = [samples.one, samples.two].map((bytes, i) => {
      const file = join(folder, `sample${i}.jpg`);
      writeFileSync(file, bytes);
      return file;
    }) as [string, string];
    // 270 people show little of rates below 1 in 1,000: the table rises slowly from there on.
    const percent = async (second: string) => {
      const { stdout } = await run(program, ['match', one, second, '--json'], folder, env);
      return (JSON.parse(stdout) as Json).confidence_percent as number;
    };
    expect(await percent(one)).toBeGreaterThan(60);
    expect(await percent(other)).toBeLessThan(60);
  },
);
