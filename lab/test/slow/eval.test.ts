import { cpSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { packDirectory, readCalibratedManifest } from '../../../src/engine/manifest.ts';
import { verifyPack } from '../../../src/engine/pack-files.ts';
import { samples, sharedFolder } from '../../../test/fixtures/images.ts';
import { uncalibratedPack } from '../../../test/fixtures/packs.ts';
import { expectFailure, facematch } from '../../../test/server/support/cli.ts';
import type { Json } from '../../../test/server/support/client.ts';
import { evalFolder } from '../support/eval-folder.ts';

const shared = sharedFolder();
let folder: string;
beforeAll(async () => {
  folder = await evalFolder();
});

const evaluate = (line: string, env?: NodeJS.ProcessEnv) =>
  facematch(`eval --mode fast ${line}`, folder, env);

describe('facematch eval', () => {
  test('in words begins with what happens at the percent of a match, and prints no rate that is not shown', async () => {
    const { code, stdout, stderr } = await evaluate('few.tsv --images images');
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

  test.each<[line: string, code: number, message: string]>([
    ['--json', 2, 'give a list of pairs, or --people NAME=DIR'],
    ['few.tsv --images images --groups sex', 2, 'are about --people'],
    ['--people a=listed --groups sex,', 2, 'such as origin*sex,age'],
    ['--people a=listed --groups hair', 1, 'there are age, sex.'],
    ['--people a=images --groups sex', 1, 'there are none.'],
    ['--people a=listed --same-person-above 0', 2, 'above 0, and at most 1'],
    ['--people a=listed --same-person-above x', 2, 'above 0'],
    ['--people a=listed a=images', 2, 'two sets are named a'],
    ['--people a=none', 1, 'The folder none cannot be read (ENOENT).'],
    ['few.tsv', 2, 'where are the images of few?'],
    ['few.tsv ./few.tsv --images images', 2, 'two sets are named few'],
    ['none.tsv --images images', 1, 'none.tsv cannot be read (ENOENT)'],
    ['few.tsv --images listed', 1, 'has none of the images that few.tsv'],
    ['few.tsv --images images --report few.tsv', 1, 'cannot be made (EEXIST)'],
    ['few.tsv --images images --report images', 1, 'holds files that are not a report'],
    ['few.tsv --images images --held-out-cohort', 1, 'too few people to make a cohort'],
  ])('%s exits with %i', async (line, code, message) => {
    expectFailure(await evaluate(line), code, message);
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
    const sets = 'windows/few.tsv --images windows/images --people p=windows';
    const { code, stdout, stderr } = await evaluate(`${sets} --json`);
    const { failures, without_face, people, pairs, not_compared }: Json = JSON.parse(stdout);
    const gone = { 'gone.jpg': 'there is no such file' };
    expect([failures, people[0].failures, without_face, stderr]).toEqual([gone, gone, [], '']);
    expect([code, pairs.same + pairs.different, not_compared]).toEqual([1, lines.length, 1]);
  });

  test('measures the cosines of a pack that is not calibrated, and says that it has no percents', async () => {
    const env = { FACEMATCH_PACK: uncalibratedPack(folder) };
    const many = await evaluate('<b>.tsv --images images --report cosines', env);
    expect(many.stdout).toMatch(
      /^At a cosine of \d\.\d{3}: \d of 136 pairs of strangers passed, 10 of 10 pairs of one person were recognised\. 1 pair was not compared/,
    );
    expect(many.stdout).not.toContain('stated');
    const few = await evaluate('few.tsv --images images', env);
    expect(few.stdout).toMatch(/^No percents, because the pack is not calibrated, and too few pairs/);
    expectFailure(await evaluate('--people staff=listed', env), 1, 'uncalibrated is not calibrated');
  });

  describe('of labelled people alone', () => {
    test('says how often each group meets each error', async () => {
      const { code, stdout, stderr } = await evaluate('--people staff=listed --groups age*sex,sex');
      expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
      expect(stdout).toContain('staff: 11 people, 21 images; mode fast');
      expect(stdout).toMatch(/^without a face +1 of 21 images: images\/nobody\/blank\.png$/m);
      expect(stdout).toMatch(
        /^could not be read +1: images\/nobody\/notes\.jpg \(unsupported_image_format\)$/m,
      );
      expect(stdout).toMatch(/^ {2}strangers of +people +pairs +50 %, stated 1 in 100 +60 %/m);
      // Five people of each sex have two images each, which are 40 pairs of strangers; the sixth has no face.
      expect(stdout).toMatch(/^ {2}sex F +6 +40 +none: at most 8\.8 /m);
      expect(stdout).toMatch(/^ {2}sex M +5 +0\.00 % \[0\.00, 43\.45\] /m);
      expect(stdout).toMatch(/^ {2}sex F +6 +11 +9\.09 % \[/m);
    });

    test('leaves out what is to be taken for one person; in folders, without a list, is one group', async () => {
      const { stdout } = await evaluate('--people staff=images --same-person-above 0.01 --json');
      const [{ everybody, groupings, same_person_above }]: Json[] = JSON.parse(stdout).people;
      expect([groupings, same_person_above]).toEqual([[], 0.01]);
      expect(everybody.taken_for_one_person).toBeGreaterThan(0);
      // 190 pairs of images, of which 10 are of one person.
      expect(everybody.by_percent[0].false_match.trials + everybody.taken_for_one_person).toBe(180);
    });
  });

  test.skipIf(!shared)(
    'with --held-out-cohort judges people by cohorts that they are not in',
    { timeout: 300_000 },
    async () => {
      const text = readFileSync(join(shared!, 'data/lfw-dev/pairs.tsv'), 'utf8');
      const [header, ...lines] = text.trimEnd().split('\n');
      // Every eighth: as many of one person as of different ones, out of all folds.
      writeFileSync(join(folder, 'lfw.tsv'), [header, ...lines.filter((_, i) => i % 8 === 0)].join('\n'));
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
  ['staff=listed --groups hair', 'No people.tsv has the labels hair: there are age, sex.'],
  ['few=images', 'of 1 in 1,000: 11 in the largest group, and at least 68 are needed'],
])('facematch calibrate %s says what is wrong before it embeds anything', async (line, message) => {
  expectFailure(await facematch(`calibrate ${line}`, folder), 1, message);
});

test.skipIf(!shared)(
  'facematch calibrate --write leaves a pack whole, with cohort, human check and tables of its own',
  { timeout: 600_000 },
  async () => {
    const pack = join(folder, 'calibrated');
    cpSync(packDirectory('default'), pack, { recursive: true });
    const before = readCalibratedManifest(pack);
    const data = join(shared!, 'data');
    // Every other image, with its line.
    const [header, ...people] = readFileSync(join(data, 'ages-dev/people.tsv'), 'utf8').trimEnd().split('\n');
    const some = people.sort().filter((_, i) => i % 2 === 0);
    mkdirSync(join(folder, 'ages/images'), { recursive: true });
    writeFileSync(join(folder, 'ages/people.tsv'), [header, ...some].join('\n'));
    for (const image of some.map((line) => `images/${line.split('\t')[0]}`))
      symlinkSync(join(data, 'ages-dev', image), join(folder, 'ages', image));
    const env = { FACEMATCH_PACK: pack };
    const calibrate = (options: string) =>
      facematch(`calibrate ages=ages/images --write --check${options}`, folder, env);

    // So few people that strangers of their groups reach 70 percent more often than the table says.
    const refused = await calibrate('');
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Nothing was written, because'),
    });
    expect(refused.stdout).toMatch(
      /^balance: the check contradicts .* reach \d0 percent [\d.]+ times as often as .* takes about [\d,]+ more people than its \d+\.$/m,
    );
    expect(refused.stdout).toMatch(/^ {2}group +percent +stated +measured +95 % interval /m);
    expect(readCalibratedManifest(pack)).toEqual(before);

    const { code, stderr } = await calibrate(` --force --without-people ${data}/negatives-animals`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'Written into the pack default\n' });
    const after = readCalibratedManifest(pack);
    await verifyPack(pack, after);
    expect(after.cohort!.sha256).not.toBe(before.cohort!.sha256);
    expect(after.human!.sha256).not.toBe(before.human!.sha256);
    for (const mode of ['fast', 'balance'] as const) {
      expect(after.calibration[mode].fitted_on).toMatch(/^ages: \d+ images of \d+ people/);
      expect(after.calibration[mode].points).not.toEqual(before.calibration[mode].points);
    }
    writeFileSync(join(folder, 'one.jpg'), samples.one);
    writeFileSync(join(folder, 'two.jpg'), samples.two);
    // 135 people show little of rates below 1 in 1,000: the table rises slowly from there on.
    const percent = async (second: string): Promise<number> =>
      JSON.parse((await facematch(`match one.jpg ${second} --json`, folder, env)).stdout).confidence_percent;
    expect(await percent('one.jpg')).toBeGreaterThan(60);
    expect(await percent('two.jpg')).toBeLessThan(60);
  },
);
