import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { preparePack } from '../../models/prepare/prepare.ts';
import { projectPath } from '../../src/config/paths.ts';
import { packDirectory, readDraft, readManifest, verifyPack } from '../../src/engine/manifest.ts';
import { livenessNet } from '../fixtures/liveness.ts';
import { uncalibratedPack } from '../fixtures/packs.ts';
import { sharedFolder } from '../fixtures/pictures.ts';
import { standIn } from '../model/support/standin.ts';
import { newFolder } from '../support/folder.ts';
import { program, run } from './support/cli.ts';
import type { Json } from './support/client.ts';

/** Packs of the user's own nets, by the command line. */

const folder = newFolder();
writeFileSync(join(folder, 'brought.onnx'), standIn());
writeFileSync(join(folder, 'no-net.onnx'), 'no net');

const packs = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  run(program, ['packs', ...args], folder, env);
const photos = [1, 3].map((number) =>
  projectPath(`node_modules/@vladmandic/face-api/demo/sample${number}.jpg`),
);

describe('facematch packs add', () => {
  test('makes a pack that loads, tells what it assumed, and serves uncalibrated', async () => {
    const args = ['./mine', '--embedder', 'brought.onnx', '--licence', 'MIT', '--project', 'of the test'];
    const { code, stdout, stderr } = await packs(['add', ...args]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain("embedder: fed RGB, (byte − 0) × 1, as sface's are");
    expect(stdout).toContain("detector, landmarks: the default pack's");
    expect(stdout).toContain('3 and 3, of 3 in each of the two sample photos');

    const directory = join(folder, 'mine');
    const draft = readDraft(directory);
    expect(draft).toMatchObject({
      name: 'mine',
      source: { kind: 'project', project: 'of the test', licence: 'MIT' },
      embedder: { from: 'brought.onnx', input: 'data', output: 'fc1', dimensions: 128, size: 112 },
      close_detector: { from: { pack: 'default' } },
    });
    expect(draft).not.toHaveProperty('cohort');
    await verifyPack(directory, draft);
    expect(await preparePack(directory, () => {})).toBe('ready');
    expect(readdirSync(folder).filter((name) => name.startsWith('.adding'))).toEqual([]);

    const env = { FACEMATCH_PACK: './mine' };
    const { stdout: answer } = await run(program, ['match', ...photos, '--json'], folder, env);
    expect(JSON.parse(answer)).toMatchObject({
      model: { pack: 'mine', version: '1.0.0' },
      extrapolated: true,
      warnings: expect.arrayContaining([expect.objectContaining({ code: 'pack_not_calibrated' })]),
    });
    const { stdout: list } = await packs(['list'], env);
    expect(list).toMatch(/mine 1\.0\.0, which a server would load\n[\s\S]*not calibrated/);
  });

  test.each<[string[], number, string]>([
    [['x'], 2, 'expected at least one of --detector, --embedder, --landmarks and --liveness'],
    [['x', '--detector', 'brought.onnx', '--family', 'yolo'], 2, 'Allowed choices are scrfd, yunet'],
    [['x', '--embedder', 'brought.onnx', '--feeding', 'yolo'], 2, 'Allowed choices are insightface, sface'],
    [['./mine', '--embedder', 'brought.onnx'], 1, 'is there already'],
    [['./x', '--embedder', 'none.onnx'], 1, 'none.onnx'],
    [['./x', '--embedder', 'no-net.onnx'], 1, 'no-net.onnx cannot be used'],
    [
      ['./x', '--embedder', 'brought.onnx', '--output', 'fc2'],
      1,
      'should have an output fc2, and has "fc1" 1×128',
    ],
    [['./x', '--detector', 'brought.onnx'], 1, 'of none of the families scrfd, yunet, retinaface, rfb'],
    [['./x', '--detector', 'brought.onnx', '--family', 'yunet'], 1, 'of none of the families yunet'],
    [['./x', '--landmarks', 'brought.onnx'], 1, 'should have one input of floats, 1×1×height×width'],
  ])('with %j exits with %i and adds nothing', async (args, code, message) => {
    const outcome = await packs(['add', ...args]);
    expect({ code: outcome.code, stdout: outcome.stdout }).toEqual({ code, stdout: '' });
    expect(outcome.stderr).toContain(message);
    expect(existsSync(join(folder, 'x'))).toBe(false);
    expect(existsSync(packDirectory('x'))).toBe(false);
  });
});

describe('facematch packs add --liveness', () => {
  const nets = ['one.onnx', 'two.onnx'];
  for (const [index, name] of nets.entries()) {
    const rows = [0, 1, 2].map((row) => [0, 0, row === 1 ? 0.01 * (index + 1) : 0] as const);
    writeFileSync(join(folder, name), livenessNet(rows));
  }
  writeFileSync(
    join(folder, 'two-classes.onnx'),
    livenessNet([
      [0, 0, 0],
      [0, 0, 0],
    ]),
  );

  test('makes a pack that gives live scores, and is calibrated like the default one, whose nets it has', async () => {
    const args = ['./live', '--liveness', 'one.onnx:2.7', '--liveness', 'two.onnx:4', '--licence', 'MIT'];
    const { code, stdout, stderr } = await packs(['add', ...args]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('liveness: two.onnx fed BGR, bytes as they are, a crop of 4 sides of the face');
    expect(stdout).toMatch(
      /ok +liveness +live-1\.onnx at 2\.7, live-2\.onnx at 4; the faces .* below 0\.5\n/,
    );
    expect(stdout).not.toContain('then calibrate it');

    const pack = join(folder, 'live');
    const manifest = readManifest(pack);
    await verifyPack(pack, manifest);
    const { cohort, human, occlusion, calibration } = readManifest(packDirectory('default'));
    expect(manifest).toMatchObject({ cohort, human, occlusion, calibration });
    expect(manifest.liveness).toMatchObject({
      family: 'minifasnet',
      live_threshold: 0.5,
      nets: [
        { file: 'live-1.onnx', input: 'input', output: 'logits', size: 80, scale: 2.7, licence: 'MIT' },
        { file: 'live-2.onnx', scale: 4 },
      ],
    });
    const list = JSON.parse((await packs(['list', '--json'], { FACEMATCH_PACK: './live' })).stdout) as Json[];
    const { files, calibrated_for } = list.find(({ name }) => name === 'live');
    expect(calibrated_for.balance).toBe(calibration.balance.fitted_on);
    expect(files.filter(({ role }: Json) => role === 'liveness')).toMatchObject([
      { file: 'live-1.onnx', pack: 'live' },
      { file: 'live-2.onnx', pack: 'live' },
    ]);
    const checked = await packs(['check', './live']);
    expect(checked.code).toBe(0);
    expect(checked.stdout).toMatch(/ok +liveness +live-1\.onnx at 2\.7/);
  });

  test.each<[string, number, string]>([
    ['one.onnx', 2, 'Expected FILE:SCALE'],
    ['one.onnx:1', 2, 'with a scale above 1'],
    ['one.onnx:4x', 2, 'Expected FILE:SCALE'],
    ['none.onnx:4', 1, 'none.onnx'],
    ['no-net.onnx:4', 1, 'no-net.onnx cannot be used'],
    ['brought.onnx:4', 1, 'should answer with three numbers, and has "fc1" 1×128'],
    ['two-classes.onnx:4', 1, 'should answer with three numbers, and has "logits" 1×2'],
  ])('refuses %s', async (liveness, code, message) => {
    const outcome = await packs(['add', './x', '--liveness', liveness]);
    expect({ code: outcome.code, stdout: outcome.stdout }).toEqual({ code, stdout: '' });
    expect(outcome.stderr).toContain(message);
    expect(existsSync(join(folder, 'x'))).toBe(false);
  });
});

describe('facematch packs check', () => {
  const findingsOf = (stdout: string): Record<string, string> =>
    Object.fromEntries((JSON.parse(stdout) as Json).findings.map(({ what, status }: Json) => [what, status]));

  test('finds nothing wrong or missing in the default pack', async () => {
    const { code, stdout } = await packs(['check', 'default', '--json']);
    expect({ code, findings: findingsOf(stdout) }).toEqual({
      code: 0,
      findings: {
        manifest: 'ok',
        files: 'ok',
        nets: 'ok',
        faces: 'ok',
        likeness: 'ok',
        time: 'ok',
        calibration: 'ok',
      },
    });
  });

  test('names what a pack goes without', async () => {
    const { code, stdout } = await packs(['check', uncalibratedPack(folder), '--json']);
    expect(code).toBe(0);
    expect(findingsOf(stdout)).toMatchObject({
      likeness: 'ok',
      calibration: 'warning',
      cohort: 'warning',
      'human check': 'warning',
    });
  });

  test('notices an embedder that is fed wrongly, and how it should be fed', async () => {
    const pack = uncalibratedPack(folder);
    const manifest = JSON.parse(readFileSync(join(pack, 'manifest.json'), 'utf8'));
    Object.assign(manifest.embedder, { channels: 'rgb', mean: 0, scale: 1e-9 });
    writeFileSync(join(pack, 'manifest.json'), JSON.stringify(manifest));
    const { stdout } = await packs(['check', pack]);
    expect(stdout).toMatch(/warning\s+feeding\s+fed as (adaface|insightface)'s nets are/);
  });

  test('fails for a file that is not the one of the manifest, and for no pack at all', async () => {
    const pack = join(folder, 'changed');
    mkdirSync(pack);
    for (const name of readdirSync(packDirectory('default')))
      copyFileSync(join(packDirectory('default'), name), join(pack, name));
    appendFileSync(join(pack, 'embed.onnx'), '.');
    const { code, stdout } = await packs(['check', './changed']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/wrong\s+pack\s+The model file .*embed\.onnx is not the one/);
    expect((await packs(['check', './none'])).code).toBe(1);
  });
});

test('facematch packs list has every pack, with whole hashes as JSON', async () => {
  const { code, stdout } = await packs(['list', '--json']);
  expect(code).toBe(0);
  const found = (JSON.parse(stdout) as Json[]).find(({ name }) => name === 'default');
  const { embedder, calibration } = readManifest(packDirectory('default'));
  expect(found).toMatchObject({ configured: true, calibrated_for: { fast: calibration.fast.fitted_on } });
  expect(found.files.find(({ role }: Json) => role === 'embedder').sha256).toBe(embedder.sha256);
});

const shared = sharedFolder();
test.skipIf(!shared)(
  'a detector of one’s own and eighty strangers, one picture each, make a calibrated pack',
  { timeout: 300_000 },
  async () => {
    const detector = join(shared!, 'models/yunet/yunet_n_dynamic.onnx');
    const added = await packs(['add', './own', '--detector', detector]);
    expect({ code: added.code, stdout: added.stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining("human check, occlusion: the default pack's"),
    });
    const images = join(shared!, 'data/lfw-dev/images');
    mkdirSync(join(folder, 'strangers'));
    for (const person of readdirSync(images).slice(0, 80)) {
      const [first] = readdirSync(join(images, person));
      copyFileSync(join(images, person, first!), join(folder, 'strangers', `${person}.jpg`));
    }
    const env = { FACEMATCH_PACK: './own' };
    const fitted = await run(program, ['calibrate', 'strangers=strangers', '--write'], folder, env);
    expect(fitted).toMatchObject({ code: 0, stderr: 'Written into the pack own\n' });
    expect(fitted.stdout).toContain('Floor 1 in 2,000, 63 percent');
    expect(fitted.stdout).toContain('answers above it are "extrapolated"');
    const pack = join(folder, 'own');
    const { calibration, cohort, human } = readManifest(pack);
    expect(human).toEqual(readManifest(packDirectory('default')).human);
    await verifyPack(pack, readManifest(pack));
    expect(calibration.balance).toMatchObject({
      fitted_on: expect.stringMatching(/^strangers: \d+ images of \d+ people$/),
      floor: 0.0005,
    });
    expect(cohort!.centres).toBeGreaterThan(50);
    const { stdout } = await run(program, ['match', ...photos, '--json'], folder, env);
    expect(JSON.parse(stdout).warnings).not.toContainEqual(
      expect.objectContaining({ code: 'pack_not_calibrated' }),
    );
  },
);
