import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createTarGzip } from 'nanotar';
import { expect, onTestFinished, test } from 'vitest';
import { packDirectory, readCalibratedManifest, readManifest } from '../../../src/engine/manifest.ts';
import { verifyPack } from '../../../src/engine/pack-files.ts';
import { sharedFolder } from '../../../test/fixtures/images.ts';
import { facematch } from '../../../test/server/support/cli.ts';
import type { Json } from '../../../test/server/support/client.ts';
import { newFolder } from '../../../test/support/folder.ts';
import { lfw } from '../../published-sets.ts';
import { knowing, publish, whole } from '../support/publishers.ts';

const shared = sharedFolder();
const { about } = lfw;

test.skipIf(!shared)(
  'pulls a pack and calibrates on a published set with documented commands, and its rates hold for other people',
  { timeout: 900_000 },
  async () => {
    const folder = newFolder();
    const images = join(shared!, 'data/lfw-dev/images');
    const photosOf = (person: string) => readdirSync(join(images, person)).sort().slice(0, 2);
    const people = readdirSync(images).sort();
    // At least 64 people are needed for a table, 20 with two photos to compare input scalings, and 100 with two photos
    // in all sets together to measure the shifts of several photos.
    const twice = people.filter((person) => photosOf(person).length === 2).slice(0, 104);
    const once = people.filter((person) => photosOf(person).length === 1);
    const copy = (person: string, photo: string, to: string) => {
      mkdirSync(join(folder, dirname(to)), { recursive: true });
      cpSync(join(images, person, photo), join(folder, to));
    };
    for (const person of twice.slice(24))
      for (const photo of photosOf(person)) copy(person, photo, `staff/${person}/${photo}`);
    for (const person of once.slice(40, 140)) copy(person, photosOf(person)[0]!, `others/${person}.jpg`);
    const files = [...twice.slice(0, 24), ...once.slice(0, 40)].flatMap((person) =>
      photosOf(person).map((photo, i) => {
        const name = `lfw/${person}/${person}_000${i + 1}.jpg`;
        return { name, data: readFileSync(join(images, person, photo)) };
      }),
    );
    const publisher = await publish({
      '/net.onnx': readFileSync(join(packDirectory('default'), 'embed.onnx')),
      '/lfw.tgz': Buffer.from(await createTarGzip(files)),
    });
    onTestFinished(() => void publisher.close());
    const near = {
      description: 'of the test',
      licence: 'MIT',
      project: 'the test',
      nets: { embedder: publisher.downloadOf('/net.onnx') },
      how: { preprocessing: 'adaface' },
    } as const;
    const env = knowing(near, publisher.downloadOf('/lfw.tgz'), folder);
    const type = (line: string, pack = 'default') =>
      facematch(line, folder, { ...env, FACEMATCH_PACK: pack });

    const pulled = await type('packs pull near --as ./near --calibrate');
    expect(pulled.stdout).toContain(`The rates were measured on ${about}. For other people`);
    expect(pulled.stdout).toContain('Input scalings of the embedder, compared on 24 mated and ');
    expect(publisher.asked).toEqual(['/lfw.tgz', '/net.onnx']);
    // The stated rates are upper bounds, which held-out people do not contradict.
    const stderr = expect.stringContaining('Wrote the calibration into the pack near');
    expect(pulled).toMatchObject({ code: 0, stderr });
    expect(readManifest(join(folder, 'near')).calibration).toBeDefined();
    expect(pulled.stdout).toMatch(/^ {2}group +percent +stated +measured +95 % interval /m);

    // A second pack is calibrated with the user's own people and existing downloads.
    publisher.respondWith(whole);
    const detector = join(shared!, 'models/yunet/yunet_n_dynamic.onnx');
    expect((await type(`packs add ./own --detector ${detector}`)).code).toBe(0);
    // In some of these images the detector finds false faces, to which the human check is fitted.
    const animals = join(folder, 'animals');
    mkdirSync(animals);
    for (const file of readdirSync(join(shared!, 'data/negatives-animals')).sort().slice(0, 12))
      cpSync(join(shared!, 'data/negatives-animals', file), join(animals, file));
    const own = await type(
      `calibrate --pack ./own --set lfw,./staff --without-people ${animals} --force --json`,
    );
    expect(own.code).toBe(0);
    expect(publisher.asked).toEqual([]);
    expect(JSON.parse(own.stdout)).toMatchObject({ written: true, known_for: [about] });
    const pack = join(folder, 'own');
    const manifest = readCalibratedManifest(pack);
    await verifyPack(pack, manifest);
    const { fast, balance } = manifest.calibration;
    const text = `Labeled Faces in the Wild (${about}): 88 images of 64 people; own1-staff: 160 images of 80 people`;
    expect(balance.fitted_on).toBe(text);
    // Shifts are measured for two photos, and extended to 16, the maximum of each side in the API.
    expect(balance.photos).toHaveLength(16);
    expect(balance.photos).toEqual(balance.photos!.toSorted((a, b) => a - b));
    expect(balance.floor).toBeLessThanOrEqual(0.01);
    expect(manifest.cohort!.centres).toBeGreaterThan(50);
    const { human } = readCalibratedManifest(packDirectory('default'));
    expect(manifest.human!.sha256).not.toBe(human!.sha256);
    expect((await type('packs list', './own')).stdout).toContain(`calibrated for  ${text}`);

    // --keep-calibration restores the floor and the shifts, and changes nothing else.
    const wrong = { floor: 0.1, photos: [0, 0.05] };
    const calibration = { fast: { ...fast, ...wrong }, balance: { ...balance, ...wrong } };
    writeFileSync(join(pack, 'manifest.json'), JSON.stringify({ ...manifest, calibration }));
    expect((await type('calibrate --pack ./own --set lfw,./staff --keep-calibration')).code).toBe(0);
    expect(readCalibratedManifest(pack)).toEqual(manifest);
    await verifyPack(pack, manifest);

    const judged = await type('eval --people others=others --json', './own');
    const { everybody }: Json = JSON.parse(judged.stdout).people[0];
    const [{ percent, stated_fmr, fmr }] = everybody.by_percent;
    expect(percent).toBe(50);
    // A rate is an upper bound for every group, of which the smallest has 64 people.
    expect(fmr.rate / stated_fmr).toBeGreaterThan(0.2);
    expect(fmr.interval[0] / stated_fmr).toBeLessThan(1.3);
  },
);

test.skipIf(!shared)(
  'detects a wrong channel order on labelled pairs (--try), and names the correct one',
  { timeout: 300_000 },
  async () => {
    const folder = newFolder();
    const images = join(shared!, 'data/lfw-dev/images');
    const people = readdirSync(images)
      .sort()
      .map((person) =>
        readdirSync(join(images, person))
          .sort()
          .map((photo) => `${person}/${photo}`),
      )
      .filter(({ length }) => length > 1)
      .slice(0, 32);
    const pairs = people.flatMap(([first, second], i) => [
      `${first}\t${second}\t1`,
      // Non-mated pairs of the same photos cost nothing.
      ...people.slice(i + 1).map(([other]) => `${first}\t${other}\t0`),
    ]);
    writeFileSync(join(folder, 'pairs.tsv'), ['image1\timage2\tsame', ...pairs].join('\n'));
    const net = join(packDirectory('default'), 'embed.onnx');
    const { stdout, code } = await facematch(
      `packs add ./scaled --embedder ${net} --preprocessing insightface --try pairs.tsv:${images}`,
      folder,
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(/RGB, \(byte − 127\.5\) × 0\.00784314 .* in the manifest\n/);
    expect(stdout).toMatch(
      /BGR, \(byte − 127\.5\) × 0\.00784314 separates the pairs better, [\d.]+ instead of [\d.]+: correct channels/,
    );
    // Unscaled bytes, on which the model was not trained, come last.
    expect(stdout).toMatch(/(?:B|R)G(?:B|R), \(byte − 0\) × 1 .*\n.*G., \(byte − 0\) × 1 .*\nSeparation/);
  },
);
