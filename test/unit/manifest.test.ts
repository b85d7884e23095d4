import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import {
  packDirectory,
  packNets,
  readDraft,
  readManifest,
  sha256,
  sourceOf,
  verifyPack,
} from '../../src/engine/manifest.ts';
import { withDetector } from '../fixtures/detectors.ts';
import { newFolder } from '../support/folder.ts';

type Json = Record<string, unknown>;

const defaultManifest = readFileSync(projectPath('models/packs/default/manifest.json'), 'utf8');
const yunetManifest = readFileSync(projectPath('models/packs/yunet/manifest.json'), 'utf8');

let directory: string;
beforeEach(() => {
  directory = newFolder();
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
    ['./default', resolve('default')],
    ['packs/mine', resolve('packs/mine')],
    ['/srv/packs/mine', '/srv/packs/mine'],
    ['.', resolve('.')],
  ])('of %s is %s', (nameOrPath, expected) => {
    expect(packDirectory(nameOrPath)).toBe(expected);
  });

  test('of nothing is refused', () => {
    expect(() => packDirectory('')).toThrow('Expected the name of a model pack');
  });
});

describe('the default manifest', () => {
  const manifest = readManifest(projectPath('models/packs/default'));

  test('is valid and names four nets', () => {
    expect([...packNets(manifest).values()].map(({ file }) => file)).toEqual([
      'detect.onnx',
      'detect-close.onnx',
      'landmark.onnx',
      'embed.onnx',
    ]);
  });
});

describe('a net', () => {
  const manifest = readManifest(projectPath('models/packs/default'));

  test('comes from its own source, from its pack’s, or from another pack', () => {
    const { detector, close_detector } = manifest;
    expect(sourceOf(manifest, close_detector!)).toEqual(close_detector!.source);
    expect(sourceOf(manifest, detector)).toBe(manifest.source);
    expect(sourceOf(manifest, { ...detector, from: { pack: 'default' } })).toBeUndefined();
  });

  test('for close faces may be left out', () => {
    writeManifest(manifestWith('close_detector', undefined));
    expect([...packNets(readManifest(directory)).keys()]).toEqual(['detector', 'landmarks', 'embedder']);
  });
});

describe('a manifest', () => {
  test('that is not there is named with the pack’s directory', () => {
    expect(() => readManifest(directory)).toThrow(
      `There is no model pack in ${directory}: cannot read ${join(directory, 'manifest.json')} (ENOENT)`,
    );
  });

  test.each([
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
    ['detector.nms_iou', 1.1],
    ['detector.channels', 'grey'],
    ['landmarks.channels', 'rgb'],
    ['embedder.size', 4096],
    [
      'embedder.template',
      [
        [56, 56],
        [56, 56],
        [56, 56],
        [56, 56],
        [56, 56],
      ],
    ],
    ['close_detector.family', 'haar'],
    ['landmarks.mean', [1, 2, 3]],
    ['embedder.mean', [1, 2]],
    ['close_detector.boxes', undefined],
    ['close_detector.source.integrity', 'sha512-'],
    ['landmarks.scale', 0],
    ['embedder.template', [[1, 2]]],
    ['cohort.weight', undefined],
    ['min_det_score', 2],
    ['calibration.fast.points', [[0, 1]]],
    ['calibration.fast.floor', 0],
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
    ['embedder.from', { pack: 'default', file: 'embed.onnx' }],
  ])('of the pack yunet with a wrong %s (%j) is refused by the member’s name', (path, value) => {
    expect(() => readManifest(projectPath('models/packs/yunet'))).not.toThrow();
    writeManifest(manifestWith(path, value, yunetManifest));
    const [member] = path.split('.');
    expect(() => readManifest(directory)).toThrow(new RegExp(`pack manifest:\\n {2}${member}`));
  });

  test.each([
    ['liveness.family', 'yolo'],
    ['liveness.live_threshold', 1.5],
    ['liveness.nets', []],
    ['liveness.nets.0.file', '../live.onnx'],
    ['liveness.nets.0.sha256', undefined],
    ['liveness.nets.0.scale', 1],
    ['liveness.nets.0.size', 0],
    ['liveness.nets.0.output', ''],
  ])('with liveness nets and a wrong %s (%j) is refused by the member’s name', (path, value) => {
    const net = { file: 'live.onnx', sha256: 'a'.repeat(64), licence: 'MIT', input: 'i', output: 'o' };
    const liveness = { family: 'minifasnet', nets: [{ ...net, size: 80, scale: 2.7 }] };
    const whole = JSON.stringify({ ...JSON.parse(defaultManifest), liveness });
    writeManifest(whole);
    expect(readManifest(directory).liveness!.live_threshold).toBe(0.5);
    writeManifest(manifestWith(path, value, whole));
    expect(() => readManifest(directory)).toThrow(`manifest.json is not a valid pack manifest:\n  ${path}: `);
  });

  test.each([
    ['scrfd', 'detector.width', 650, 'detector.width: and height must be multiples of the largest stride'],
    ['scrfd', 'detector.height', 480.5, 'detector.height: '],
    ['scrfd', 'detector.strides', [8, 16, 24], 'detector.strides: must rise, each a multiple of the one'],
    ['scrfd', 'detector.strides', [], 'detector.strides: '],
    ['scrfd', 'detector.strides', [8, 16], 'detector.scores: must have one member for each stride'],
    ['scrfd', 'detector.boxes', ['446'], 'detector.boxes: must have one member for each stride'],
    ['scrfd', 'detector.boxes', ['446', '471', '443'], 'detector: names an output twice'],
    ['scrfd', 'detector.boxes', undefined, 'detector.scores: must be named with boxes, or neither'],
    ['scrfd', 'detector.anchors', 17, 'detector.anchors: '],
    ['scrfd', 'detector.priors', [[16]], 'detector: '],
    ['retinaface', 'detector.scores', undefined, 'detector.scores: must be named with boxes, or neither'],
    ['retinaface', 'detector.boxes', 'conf', 'detector: names an output twice'],
    ['retinaface', 'detector.priors', [[16, 32]], 'detector.priors: must have one member for each stride'],
    ['retinaface', 'detector.priors', [[16], [], [32]], 'detector.priors.1: '],
    ['retinaface', 'detector.variances', [0.1], 'detector.variances: '],
    ['retinaface', 'detector.variances', [0.1, 0], 'detector.variances.1: '],
    ['retinaface', 'detector.mean', [1, 2, 1001], 'detector.mean.2: '],
  ] as const)('of the family %s with %s %j says what is wrong', (family, path, value, message) => {
    const whole = JSON.stringify(withDetector(JSON.parse(defaultManifest), family));
    writeManifest(whole);
    expect(() => readManifest(directory)).not.toThrow();
    writeManifest(manifestWith(path, value, whole));
    expect(() => readManifest(directory)).toThrow(message);
  });

  test.each(['scrfd', 'retinaface'] as const)(
    'of the family %s need not name outputs, and may be for close faces',
    (family) => {
      const manifest = withDetector(JSON.parse(defaultManifest), family);
      const { scores: _, boxes: __, ...unnamed } = manifest.detector;
      writeManifest(JSON.stringify({ ...manifest, detector: unnamed, close_detector: manifest.detector }));
      expect(readManifest(directory).detector).toEqual(unnamed);
    },
  );

  test.each([
    ['detector.family', 'yolo', 'detector.family: must be one of rfb, yunet, blazeface, scrfd, retinaface'],
    ['source.kind', 'git', 'source.kind: must be one of npm, project'],
    ['detector.family', 'yunet', 'detector.cls: '],
    ['detector.offsets', 'scores', 'detector: names an output twice'],
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

  test('with a member that nobody knows is refused, since a misspelt one would be lost', () => {
    writeManifest(manifestWith('detector.nms_iuo', 0.4));
    expect(() => readManifest(directory)).toThrow(/detector: .*nms_iuo/);
  });
});

describe('the files of a pack', () => {
  const files = {
    'detect.onnx': 'a detector',
    'detect-close.onnx': 'another',
    'landmark.onnx': 'landmarks',
    'embed.onnx': 'an embedder',
    'cohort.i8': 'a cohort',
    'human.i8': 'a check',
    'occlusion.i8': 'another check',
  };

  /** A pack whose manifest was made for `files`. */
  beforeEach(() => {
    const manifest = JSON.parse(defaultManifest) as Record<string, { sha256: string }>;
    const parts = {
      'detect.onnx': 'detector',
      'detect-close.onnx': 'close_detector',
      'landmark.onnx': 'landmarks',
      'embed.onnx': 'embedder',
      'cohort.i8': 'cohort',
      'human.i8': 'human',
      'occlusion.i8': 'occlusion',
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

  test.each(Object.keys(files))(
    'are refused when %s is missing, with the command that helps',
    async (file) => {
      rmSync(join(directory, file));
      await expect(verify()).rejects.toThrow(
        `The model file ${join(directory, file)} is missing. Get it ${file.endsWith('.i8') ? 'from the repository' : 'with: npm run setup'}`,
      );
    },
  );

  test.each([
    ['truncated', (content: string) => content.slice(0, -1)],
    ['swapped for another net', () => files['embed.onnx']],
    ['changed in one bit', (content: string) => `b${content.slice(1)}`],
  ])('are refused when one is %s, with its name', async (_, change) => {
    writeFileSync(join(directory, 'detect.onnx'), change(files['detect.onnx']));
    await expect(verify()).rejects.toThrow(
      new RegExp(`${join(directory, 'detect.onnx')} is not the one .* npm run setup$`),
    );
  });
});
