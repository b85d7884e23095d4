import { appendFileSync, cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { preparePack } from '../../../models/prepare/prepare.ts';
import { projectPath } from '../../../src/config/paths.ts';
import { packDirectory, readCalibratedManifest, readManifest } from '../../../src/engine/manifest.ts';
import { verifyPack } from '../../../src/engine/pack-files.ts';
import { decodedNet, scrfdMaps, smallEmbedder } from '../../../test/fixtures/nets.ts';
import { livenessNet, uncalibratedPack } from '../../../test/fixtures/packs.ts';
import { expectFailure, facematch, facematchInHost } from '../../../test/server/support/cli.ts';
import type { Json } from '../../../test/server/support/client.ts';
import { newFolder } from '../../../test/support/folder.ts';

/** Tests `facematch packs` with the user's own models. */

const folder = newFolder();
writeFileSync(join(folder, 'brought.onnx'), smallEmbedder());
writeFileSync(join(folder, 'no-net.onnx'), 'no net');
writeFileSync(join(folder, 'halves.onnx'), smallEmbedder({ halves: 'all' }));
for (const [index, name] of ['one.onnx', 'two.onnx'].entries()) {
  const rows = [0, 1, 2].map((row) => [0, 0, row === 1 ? 0.01 * (index + 1) : 0] as const);
  writeFileSync(join(folder, name), livenessNet(rows));
}
const none = [0, 0, 0] as const;
writeFileSync(join(folder, 'two-classes.onnx'), livenessNet([[0.01, 0.01, 0.01], none]));
writeFileSync(join(folder, 'four-classes.onnx'), livenessNet([none, none, none, none]));
writeFileSync(join(folder, 'decoded.onnx'), decodedNet());
writeFileSync(join(folder, 'maps.onnx'), scrfdMaps());
writeFileSync(join(folder, 'blind.onnx'), decodedNet({ isBlind: true }));

const landmarksFile = join(packDirectory('default'), 'landmark.onnx');

const packs = (line: string, env?: NodeJS.ProcessEnv) => facematchInHost(`packs ${line}`, folder, env);
const demo = projectPath('node_modules/@vladmandic/face-api/demo');
const photos = `${demo}/sample1.jpg ${demo}/sample3.jpg`;

describe('facematch packs add', () => {
  test('makes an uncalibrated pack that loads and works, and reports its assumptions', async () => {
    const own = './mine --embedder brought.onnx --licence MIT --source of-the-test';
    const { code, stdout, stderr } = await facematch(`packs add ${own}`, folder);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(
      'embedder: input RGB, (byte − 0) × 1, as for sface; this is a guess, which --try PAIRS.tsv:DIR tests',
    );
    expect(stdout).toContain("detector, landmarks: the default pack's");
    expect(stdout).toContain('3 and 3, of 3 in each of the two sample photos');

    const directory = join(folder, 'mine');
    const draft = readManifest(directory);
    expect(draft).toMatchObject({
      name: 'mine',
      source: { kind: 'project', project: 'of-the-test', licence: 'MIT' },
      embedder: { from: 'brought.onnx', input: 'data', output: 'fc1', dimensions: 128, size: 112 },
      close_detector: { from: { pack: 'default' } },
    });
    expect(draft).not.toHaveProperty('cohort');
    await verifyPack(directory, draft);
    expect(await preparePack(directory, () => {})).toBe('ready');
    expect(readdirSync(folder).filter((name) => name.startsWith('.adding'))).toEqual([]);

    const env = { FACEMATCH_PACK: './mine' };
    const { stdout: json } = await facematchInHost(`match ${photos} --json`, folder, env);
    expect(JSON.parse(json)).toMatchObject({
      model: { pack: 'mine', version: '1.0.0' },
      extrapolated: true,
      warnings: expect.arrayContaining([expect.objectContaining({ code: 'uncalibrated' })]),
    });
    const { stdout: list } = await packs('list', env);
    expect(list).toMatch(/mine 1\.0\.0 \(configured\)\n[\s\S]*not calibrated/);
  });

  test.each<[line: string, code: number, message: string]>([
    ['x', 2, 'expected at least one of --detector, --embedder, --landmarks and --liveness'],
    ['x --detector brought.onnx --detector-family yolo', 2, 'Allowed choices are scrfd, scrfd_maps, yunet'],
    ['x --embedder brought.onnx --preprocessing yolo', 2, 'Allowed choices are insightface, sface'],
    ['./mine --embedder brought.onnx', 1, 'already exists'],
    ['./x --embedder none.onnx', 1, 'none.onnx'],
    ['./x --embedder no-net.onnx', 1, 'no-net.onnx cannot be used'],
    ['./x --embedder halves.onnx', 1, 'halves.onnx has half-precision (FP16) inputs or outputs'],
    ['./x --embedder brought.onnx --embedder-output fc2', 1, 'must have an output fc2, but has "fc1" 1×128'],
    ['./x --detector brought.onnx', 1, ', blazeface: "fc1" 1×128'],
    ['./x --detector brought.onnx --detector-family yunet', 1, 'do not match the family yunet'],
    [
      './x --detector blind.onnx',
      1,
      'finds none of the six faces in the sample photos, decoded as family rfb, which',
    ],
    ['./x --landmarks brought.onnx', 1, 'must have one float input of shape 1×1×height×width'],
    [
      `./x --embedder ${landmarksFile}`,
      1,
      'has "input" 1×1×64×64. It seems to be a landmark model (68 points).',
    ],
    [`./x --detector ${landmarksFile}`, 1, 'It seems to be a landmark model (68 points).'],
    ['./x --embedder two-classes.onnx', 1, 'It seems to be a liveness model (two classes).'],
    ['./x --liveness one.onnx', 2, 'Expected FILE:SCALE'],
    ['./x --liveness one.onnx:1', 2, 'with a scale above 1'],
    ['./x --liveness one.onnx:4x', 2, 'Expected FILE:SCALE'],
    ['./x --liveness none.onnx:4', 1, 'none.onnx'],
    ['./x --liveness no-net.onnx:4', 1, 'no-net.onnx cannot be used'],
    ['./x --liveness brought.onnx:4', 1, 'must output two or three numbers, but has "fc1" 1×128'],
    ['./x --liveness four-classes.onnx:4', 1, 'two or three numbers, but has "logits" 1×4'],
    ['./x --liveness two-classes.onnx:4 --liveness-family minifasnet', 1, 'has "logits" 1×2'],
    ['./x --liveness one.onnx:4 --liveness two-classes.onnx:4', 1, 'must belong to one family'],
  ])('adds nothing for %s and exits with %i', async (line, code, message) => {
    expectFailure(await facematchInHost(`packs add ${line}`, folder), code, message);
    expect(existsSync(join(folder, 'x'))).toBe(false);
    expect(existsSync(packDirectory('x'))).toBe(false);
  });

  test.each([
    ['decoded.onnx', 'ssd_decoded'],
    [join(packDirectory('default'), 'detect.onnx'), 'rfb'],
  ])(
    'recognises %s as a detector of the family %s by its boxes, whatever the name of its output',
    async (file, family) => {
      const { code, stdout } = await packs(`add ./${family} --detector ${file}`);
      expect(code).toBe(0);
      expect(stdout).toContain(`rfb, ssd_decoded; ${family} finds the faces`);
      expect(stdout).toContain('3 and 3, of 3 in each of the two sample photos');
      const { detector, close_detector } = readManifest(join(folder, family));
      expect([detector.family, close_detector]).toEqual([family, undefined]);
    },
  );

  test("finds the sample faces with SCRFD's raw maps, whose scores are logits", async () => {
    const { code, stdout } = await packs('add ./maps --detector maps.onnx');
    expect(code).toBe(0);
    expect(stdout).toContain('detector: family scrfd_maps, by its outputs');
    expect(stdout).toContain('3 and 3, of 3 in each of the two sample photos');
    const { detector } = readManifest(join(folder, 'maps'));
    expect(detector).toMatchObject({ family: 'scrfd_maps', width: 320, height: 256, anchors: 2 });
  });

  test('assigns a liveness model with two classes to celeba_spoof, and accepts --liveness-family', async () => {
    const two = await packs('add ./two --liveness two-classes.onnx:1.5');
    expect(two.stdout).toMatch(/input RGB, bytes \/ 255, .* the first of its 2 outputs is the class "live"/);
    expect(two.stdout).toMatch(/ok +liveness +live-1\.onnx at 1\.5; .* 0 of 6 below 0\.5/);
    expect(readManifest(join(folder, 'two')).liveness).toMatchObject({ family: 'celeba_spoof' });
    const three = await packs('add ./three --liveness one.onnx:4 --liveness-family celeba_spoof');
    expect(three.stdout).toMatch(/warning +liveness .* 6 of 6 below 0\.5 .*--liveness-family/);
  });

  test("makes a pack with live scores (--liveness) that keeps the default pack's models and calibration", async () => {
    const nets = './live --liveness one.onnx:2.7 --liveness two.onnx:4 --licence MIT';
    const { code, stdout, stderr } = await packs(`add ${nets}`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('liveness: two.onnx: input BGR, unscaled bytes, crop 4 times the face size');
    expect(stdout).toMatch(
      /ok +liveness +live-1\.onnx at 2\.7, live-2\.onnx at 4; the faces .* below 0\.5\n/,
    );
    expect(stdout).not.toContain('Then calibrate it');

    const pack = join(folder, 'live');
    const manifest = readCalibratedManifest(pack);
    await verifyPack(pack, manifest);
    const { cohort, human, occlusion, calibration, embedder } = readCalibratedManifest(
      packDirectory('default'),
    );
    expect(manifest).toMatchObject({ cohort, human, occlusion, calibration });
    expect(manifest.liveness).toMatchObject({
      family: 'minifasnet',
      live_threshold: 0.5,
      nets: [
        { file: 'live-1.onnx', input: 'input', output: 'logits', size: 80, scale: 2.7, licence: 'MIT' },
        { file: 'live-2.onnx', scale: 4 },
      ],
    });
    const list = JSON.parse((await packs('list --json', { FACEMATCH_PACK: './live' })).stdout) as Json[];
    const { files, calibrated_for, configured } = list.find(({ name }) => name === 'live');
    const { fast, balance } = calibration;
    expect(calibrated_for).toEqual({ fast: fast.fitted_on, balance: balance.fitted_on });
    expect([list.some(({ name }) => name === 'default'), configured]).toEqual([true, true]);
    expect(files.find(({ role }: Json) => role === 'embedder').sha256).toBe(embedder.sha256);
    expect(files.filter(({ role }: Json) => role === 'liveness')).toMatchObject([
      { file: 'live-1.onnx', pack: 'live' },
      { file: 'live-2.onnx', pack: 'live' },
    ]);
    const checked = await packs('check ./live');
    expect(checked.code).toBe(0);
    expect(checked.stdout).toMatch(/ok +liveness +live-1\.onnx at 2\.7/);
  });
});

describe('facematch packs check', () => {
  const findingsOf = (stdout: string): Record<string, string> =>
    Object.fromEntries((JSON.parse(stdout) as Json).findings.map(({ what, status }: Json) => [what, status]));

  test('finds nothing wrong or missing in the default pack', async () => {
    const { code, stdout } = await packs('check default --json');
    const all = ['manifest', 'files', 'models', 'faces', 'likeness', 'time', 'calibration'];
    expect([code, findingsOf(stdout)]).toEqual([0, Object.fromEntries(all.map((what) => [what, 'ok']))]);
  });

  test('lists the features that a pack lacks', async () => {
    const { code, stdout } = await packs(`check ${uncalibratedPack(folder)} --json`);
    expect(code).toBe(0);
    expect(findingsOf(stdout)).toMatchObject({
      likeness: 'ok',
      calibration: 'warning',
      cohort: 'warning',
      'human check': 'warning',
    });
  });

  test('detects a wrong input scaling of an embedder, and names the correct one', async () => {
    const pack = uncalibratedPack(folder);
    const manifest = JSON.parse(readFileSync(join(pack, 'manifest.json'), 'utf8'));
    Object.assign(manifest.embedder, { channels: 'rgb', mean: 0, scale: 1e-9 });
    writeFileSync(join(pack, 'manifest.json'), JSON.stringify(manifest));
    const { stdout } = await packs(`check ${pack}`);
    expect(stdout).toMatch(
      /warning\s+preprocessing\s+with the preprocessing of (adaface|insightface), the embedder separates/,
    );
  });

  test('fails for a file with another hash than in the manifest, and for a missing pack', async () => {
    const pack = join(folder, 'changed');
    cpSync(packDirectory('default'), pack, { recursive: true });
    appendFileSync(join(pack, 'embed.onnx'), '.');
    const { code, stdout } = await packs('check ./changed');
    expect(code).toBe(1);
    expect(stdout).toMatch(/fail\s+pack\s+The model file .*embed\.onnx does not match the manifest/);
    expect((await packs('check ./none')).code).toBe(1);
  });
});

test('rejects an invalid --try before it creates a pack', async () => {
  const own = 'add ./x --embedder brought.onnx --try';
  expectFailure(
    await facematchInHost(`packs ${own} pairs`, folder),
    1,
    '--try must be PAIRS.tsv:DIR, not pairs.',
  );
  expectFailure(await facematchInHost(`packs ${own} none.tsv:.`, folder), 1, 'none.tsv cannot be read');
  expect(existsSync(join(folder, 'x'))).toBe(false);
});
