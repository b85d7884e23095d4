import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  packDirectory,
  packNets,
  prepareCommand,
  readDraft,
  readManifest,
  sha256,
  verifyPack,
} from '../../src/engine/pack.ts';
import { Calibration } from '../../src/matching/calibration.ts';
import { projectPath } from '../../src/paths.ts';

type Json = Record<string, unknown>;

const defaultManifest = readFileSync(projectPath('models/packs/default/manifest.json'), 'utf8');
const yunetManifest = readFileSync(projectPath('models/packs/yunet/manifest.json'), 'utf8');

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'facematch-pack-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

function writeManifest(text: string): void {
  writeFileSync(join(directory, 'manifest.json'), text);
}

/** A manifest, the default one, with the member at a dotted path set; undefined takes it away. */
function manifestWith(path: string, value: unknown, from = defaultManifest): string {
  const manifest = JSON.parse(from) as Json;
  const members = path.split('.');
  const last = members.pop()!;
  const parent = members.reduce((object, member) => object[member] as Json, manifest);
  parent[last] = value;
  return JSON.stringify(manifest);
}

describe('the directory of a pack', () => {
  test.each([
    ['default', projectPath('models/packs/default')],
    ['my-pack.v2', projectPath('models/packs/my-pack.v2')],
    ['./default', resolve('default')],
    ['../packs/mine', resolve('../packs/mine')],
    ['packs/mine', resolve('packs/mine')],
    ['/srv/packs/mine', '/srv/packs/mine'],
    ['.', resolve('.')],
    ['..', resolve('..')],
  ])('of %s is %s', (nameOrPath, expected) => {
    expect(packDirectory(nameOrPath)).toBe(expected);
  });

  test('of nothing is refused', () => {
    expect(() => packDirectory('')).toThrow('Expected the name of a model pack');
  });
});

describe('the default manifest', () => {
  const manifest = readManifest(projectPath('models/packs/default'));

  test('is valid and names three nets', () => {
    expect(packNets(manifest).map(({ file }) => file)).toEqual([
      'detect.onnx',
      'landmark.onnx',
      'embed.onnx',
    ]);
  });

  test.each(['fast', 'balance'] as const)('has a calibration for %s that can be built', (mode) => {
    const calibration = new Calibration(manifest.calibration[mode].points);
    expect(calibration.judge(1, 1).confidence_percent).toBe(100);
    expect(calibration.judge(-1, 1).confidence_percent).toBe(0);
  });
});

describe('a manifest', () => {
  test('that is not there is named with the pack’s directory', () => {
    expect(() => readManifest(directory)).toThrow(
      `There is no model pack in ${directory}: cannot read ${join(directory, 'manifest.json')} (ENOENT)`,
    );
  });

  test.each([
    ['empty', ''],
    ['cut short', defaultManifest.slice(0, 500)],
    ['not JSON', 'name: default'],
  ])('that is %s is refused as invalid JSON, with the file’s name', (_, text) => {
    writeManifest(text);
    expect(() => readManifest(directory)).toThrow(`${join(directory, 'manifest.json')} is not valid JSON`);
  });

  test.each([
    ['detector', undefined],
    ['detector.input', undefined],
    ['name', ''],
    ['detector.sha256', 'ABCD'],
    ['detector.file', '../detect.onnx'],
    ['detector.file', '/etc/detect.onnx'],
    ['detector.family', 'yolo'],
    ['detector.width', 320.5],
    ['detector.channels', 'grey'],
    ['detector.nms_iou', 1.1],
    ['landmarks.scale', 0],
    ['embedder.dimensions', 0],
    ['embedder.template', [[1, 2]]],
    ['embedder.mean', null],
    ['cohort.weights', undefined],
    ['cohort.weights.highest', -0.1],
    ['min_det_score', 2],
    ['calibration.fast.points', [[0, 1]]],
    ['calibration.balance', undefined],
    ['calibration.fast.floor', 0],
    ['calibration.balance.floor', 0.2],
  ])('with a wrong %s (%j) is refused by the member’s name', (path, value) => {
    writeManifest(manifestWith(path, value));
    expect(() => readManifest(directory)).toThrow(`manifest.json is not a valid pack manifest:\n  ${path}: `);
  });

  test.each([
    ['source.kind', 'git'],
    ['source.get', undefined],
    ['detector.cls', undefined],
    ['detector.bbox', 'bbox_8'],
    ['detector.width', 330],
    ['detector.family', 'rfb'],
    ['landmarks.from', {}],
    ['landmarks.from', { pack: '../default' }],
    ['landmarks.from', { pack: '/srv/packs/mine' }],
    ['embedder.from', { pack: 'default', file: 'embed.onnx' }],
  ])('of the pack yunet with a wrong %s (%j) is refused by the member’s name', (path, value) => {
    expect(() => readManifest(projectPath('models/packs/yunet'))).not.toThrow();
    writeManifest(manifestWith(path, value, yunetManifest));
    const [member] = path.split('.');
    expect(() => readManifest(directory)).toThrow(new RegExp(`pack manifest:\\n {2}${member}`));
  });

  const human = {
    file: 'human.i8',
    sha256: 'a'.repeat(64),
    licence: 'Apache-2.0',
    scale: 0.0123,
    bias: 1.5,
    bar: -1,
    fitted_on: 'people and animals',
  };

  test('may have a check for human faces', () => {
    writeManifest(manifestWith('human', human));
    expect(readManifest(directory).human).toEqual(human);
    writeManifest(manifestWith('human', undefined));
    expect(readManifest(directory).human).toBeUndefined();
  });

  test.each([
    ['file', '../human.i8'],
    ['sha256', 'abc'],
    ['scale', 0],
    ['bias', '1'],
  ])('with a wrong %s (%j) of that check is refused', (member, value) => {
    writeManifest(manifestWith('human', { ...human, [member]: value }));
    expect(() => readManifest(directory)).toThrow(`human.${member}: `);
  });

  test.each([
    [{ file: '../embed.int8.json', sha256: 'a'.repeat(64) }, 'file: must be a plain file name'],
    [{ file: 'embed.json', sha256: 'a'.repeat(64) }, 'file: must be a plain file name ending in .int8.json'],
    [{ file: 'embed.int8.json', sha256: 'abc' }, 'sha256: must be 64'],
    [{ file: 'embed.int8.json' }, 'sha256: '],
  ])('with the plan %j of an embedder in whole numbers is refused', (int8, message) => {
    writeManifest(manifestWith('embedder.int8', int8));
    expect(() => readManifest(directory)).toThrow(`embedder.int8.${message}`);
  });

  test.each([
    ['detector.family', 'yolo', 'detector.family: must be one of rfb, yunet'],
    ['source.kind', 'git', 'source.kind: must be one of npm, project'],
    ['detector.from', 7, 'detector.from: must be a path inside the source, or {"pack": NAME}'],
    ['detector.family', 'yunet', 'detector.cls: '],
  ])('with %s %j says what may stand there', (path, value, message) => {
    writeManifest(manifestWith(path, value));
    expect(() => readManifest(directory)).toThrow(message);
  });

  test('without a calibration is a draft: it can be prepared, and says how to calibrate it', () => {
    writeManifest(manifestWith('calibration', undefined));
    expect(readDraft(directory).calibration).toBeUndefined();
    expect(() => readManifest(directory)).toThrow(
      'calibration: is missing; fit it with: npx facematch calibrate',
    );
    writeManifest(manifestWith('calibration', {}));
    expect(() => readDraft(directory)).toThrow('calibration.fast: ');
  });

  test.each([
    ['default', defaultManifest, 'npm run setup'],
    ['int8', manifestWith('name', 'int8'), 'npm run setup'],
    ['yunet', yunetManifest, 'node dist/models/prepare/index.js /srv/yunet --file detector=PATH'],
    ['own', manifestWith('name', 'own'), 'node dist/models/prepare/index.js /srv/own'],
  ])('of the pack %s tells how to prepare it', (name, text, command) => {
    writeManifest(text);
    expect(prepareCommand(`/srv/${name}`, readDraft(directory))).toBe(command);
  });

  test('with a member that nobody knows is refused, since a misspelt one would be lost', () => {
    writeManifest(manifestWith('detector.nms_iuo', 0.4));
    expect(() => readManifest(directory)).toThrow(/detector: .*nms_iuo/);
  });

  test('that is not an object is refused', () => {
    writeManifest('[]');
    expect(() => readManifest(directory)).toThrow('the manifest: ');
  });

  test('with several wrong members names each', () => {
    const manifest = JSON.parse(manifestWith('name', 7)) as Json;
    writeManifest(JSON.stringify({ ...manifest, min_det_score: -1 }));
    expect(() => readManifest(directory)).toThrow(/ {2}name: .*\n {2}min_det_score: /s);
  });
});

describe('the files of a pack', () => {
  const files = {
    'detect.onnx': 'a detector',
    'landmark.onnx': 'landmarks',
    'embed.onnx': 'an embedder',
    'cohort.i8': 'a cohort',
    'human.i8': 'a check',
  };

  /** A pack whose manifest was made for `files`. */
  beforeEach(() => {
    const manifest = JSON.parse(defaultManifest) as Record<string, { sha256: string }>;
    const parts = {
      'detect.onnx': 'detector',
      'landmark.onnx': 'landmarks',
      'embed.onnx': 'embedder',
      'cohort.i8': 'cohort',
      'human.i8': 'human',
    };
    manifest.human = { scale: 1, bias: 0, bar: 0, file: 'human.i8', licence: 'MIT', fitted_on: 'x' } as never;
    for (const [file, content] of Object.entries(files)) {
      writeFileSync(join(directory, file), content);
      manifest[parts[file as keyof typeof files]]!.sha256 = sha256(Buffer.from(content));
    }
    writeManifest(JSON.stringify(manifest));
  });

  const verify = () => verifyPack(directory, readManifest(directory));

  test('pass when each is what the manifest says', async () => {
    await expect(verify()).resolves.toBeUndefined();
  });

  test.each(
    Object.keys(files),
  )('are refused when %s is missing, with the command that helps', async (file) => {
    rmSync(join(directory, file));
    await expect(verify()).rejects.toThrow(
      `The model file ${join(directory, file)} is missing. Get it ${file.endsWith('.i8') ? 'from the repository' : 'with: npm run setup'}`,
    );
  });

  test.each([
    ['truncated', (content: string) => content.slice(0, -1)],
    ['empty', () => ''],
    ['swapped for another net', () => files['embed.onnx']],
    ['changed in one bit', (content: string) => `b${content.slice(1)}`],
  ])('are refused when one is %s, with its name', async (_, change) => {
    writeFileSync(join(directory, 'detect.onnx'), change(files['detect.onnx']));
    await expect(verify()).rejects.toThrow(
      new RegExp(`${join(directory, 'detect.onnx')} is not the one .* npm run setup$`),
    );
  });

  test('are refused when one cannot be read, with the reason', async () => {
    rmSync(join(directory, 'embed.onnx'));
    mkdirSync(join(directory, 'embed.onnx'));
    await expect(verify()).rejects.toThrow(`${join(directory, 'embed.onnx')} cannot be read (EISDIR)`);
  });
});
