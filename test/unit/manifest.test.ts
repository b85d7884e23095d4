import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { families } from '../../src/engine/families.ts';
import {
  packDirectory,
  packNets,
  readDraft,
  readManifest,
  sha256,
  sourceOf,
  verifyPack,
} from '../../src/engine/manifest.ts';
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

/** The members that other families have in place of those of rfb. */
const detectors = {
  scrfd: { ...families.scrfd.usual!.grids, scores: ['443', '468', '493'], boxes: ['446', '471', '496'] },
  retinaface: { ...families.retinaface.usual!.grids, scores: 'conf', boxes: 'loc' },
};

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

  const five = (...points: [number, number][]) => points;
  const template = five([0, 0], [112, 0], [5, 5], [0, 112], [112, 112]);
  const strides = 'must have one member for each stride';

  /** Of the default pack, or of one whose detector is of that family. */
  const members: [path: string, taken: unknown[], refused: unknown[], family?: string, message?: string][] = [
    ['name', ['a'], ['', undefined, 1]],
    ['detector', [], [undefined, null, []]],
    ['detector.channels', ['bgr'], ['grey', 'gbr', 0, null]],
    ['landmarks.channels', ['grey'], ['rgb', 'bgr']],
    ['embedder.channels', ['rgb'], ['grey', ['rgb']]],
    [
      'detector.file',
      ['landmark.onnx', '-_.onnx'],
      ['../a.onnx', '/a.onnx', '.onnx', 'détect.onnx', 'a.onnx\0', 'a.onnx\n'],
    ],
    ['detector.sha256', ['a'.repeat(64)], ['ABCD', 'A'.repeat(64), undefined]],
    ['cohort.file', ['human.i8'], ['../cohort.i8', 'cohort.onnx', '/dev/zero', '']],
    ['detector.input', ['a word'], ['', 1, undefined]],
    ['detector.scores', ['a word'], ['', ['scores'], undefined]],
    ['detector', [], [{ scores: 'offsets' }], 'default', 'names an output twice'],
    ['detector.width', [1, 2048, 320.0, 3.2e2], [0, 2049, 2.5, true, -320, 4294967616, 1e300, 1e-300]],
    ['landmarks.size', [64.0, 512], [513, 0, 2 ** 64]],
    ['embedder.size', [112, 512], [513, 0]],
    ['embedder.dimensions', [1, 4096], [0, 4097, 1.5, null]],
    ['detector.mean', [-1000, 0, 1000], [1000.1, 1e300, true, '0']],
    ['embedder.mean', [[1, 2.5, -1000]], [[1, 2], [], [1, 2, 3, 4], [1, 2, null], [1, 2, 1001]]],
    ['landmarks.mean', [1], [[1, 2, 3], [1]]],
    ['embedder.scale', [1e-9, 1000], [0, -1, 9e-10, 1e-300, 1001]],
    ['landmarks.crop', [0.1, 10], [0, 0.09, 10.5, 1e39]],
    ['landmarks.upright_degrees', [0, 180], [-1, 181]],
    ['landmarks.max_instability', [undefined], [{}, { quick: 0.1 }, 0.02, null]],
    ['landmarks.clear_template_error', [0, 1, undefined], [-0.1, 1.1]],
    ['detector.clear_score', [0, 1, undefined], [-0.1, 1.1]],
    ['detector.nms_iou', [0, 1], [-0.1, 1.1]],
    ['detector.second_look_score', [0, 1], [-0.1, 1.1]],
    ['embedder.template', [template], [five([1, 2]), [], 'five points', null]],
    [
      'embedder.template',
      [],
      [
        [[-1, 0], ...template.slice(1)],
        [[0, 0, 0], ...template.slice(1)],
      ],
    ],
    ['embedder.template', [], [[[113, 0], ...template.slice(1)]], 'default', 'must lie inside the chip'],
    [
      'embedder.template',
      [],
      [
        five([9, 9], [9, 9], [9, 9], [9, 9], [9, 9]),
        five([9, 9], [19, 9], [9, 9], [9, 9], [9, 9]),
        five([19, 9], [9, 9], [9, 9], [9, 19], [9, 19]),
      ],
      'default',
      'must have the left eye right of the right one, and the mouth below',
    ],
    ['cohort.centres', [1, 16384], [0, 16385, 1.5]],
    ['cohort.highest', [1, 16384], [0, 16385]],
    ['cohort.weight', [0, 1000], [-1, 1e39, undefined]],
    ['human.scale', [1], [0, 1e-300, 1e300]],
    ['human.bias', [-1000], [-1001, false]],
    ['human.bar', [1000], [1e300]],
    ['occlusion.scale', [1], [0, 1e-300, 1e300]],
    ['occlusion.bias', [-1000], [-1001, false]],
    ['min_det_score', [0, 1], [2, undefined]],
    ['calibration.fast.points', [], [[[0, 1]], []]],
    ['calibration.fast.floor', [0.1], [0, 0.2]],
    ['source.kind', [], ['git'], 'default', 'must be one of npm, project'],
    ['landmarks.from', ['a/b', { pack: 'default' }], [{}, { pack: '../default' }, { pack: 'a', file: 'b' }]],
    ['close_detector.source.integrity', [], ['sha512-']],
    [
      'detector.family',
      [],
      ['yolo', undefined],
      'default',
      'must be one of scrfd, yunet, retinaface, rfb, blazeface',
    ],
    ['close_detector.boxes', ['a'], [undefined, ['a'], '']],
    ['close_detector.width', [112], [120], 'default', 'must be a multiple of the largest stride, 16'],

    ['detector.cls', [['a', 'b', 'c']], [undefined, 'a', ['a', 'b', '']], 'yunet'],
    [
      'detector.obj',
      [['a', 'b', 'c']],
      [
        ['a', 'b'],
        ['a', 'b', 'c', 'd'],
      ],
      'yunet',
      strides,
    ],
    ['detector.height', [352], [330], 'yunet', 'must be a multiple of the largest stride, 32'],
    ['detector', [], [{ bbox: ['cls_8', 'b', 'c'] }], 'yunet', 'names an output twice'],

    [
      'detector.strides',
      [
        [8, 16, 32],
        [1, 2.0, 4],
      ],
      [[], 8, [0, 8, 16], [64, 128, 256], [8.5, 17, 34]],
      'scrfd',
    ],
    [
      'detector.strides',
      [],
      [
        [8, 8, 16],
        [8, 12, 24],
        [16, 8, 32],
      ],
      'scrfd',
      'must rise, each a multiple of the one before',
    ],
    ['detector.anchors', [1, 16], [0, 17, 2.5, [2], null], 'scrfd'],
    ['detector.scores', [['a', 'b', 'c']], [['a', 'b', ''], 'a', undefined], 'scrfd'],
    ['detector.boxes', [['a', 'b', 'c']], [['446'], ['a', 'b', 'c', 'd']], 'scrfd', strides],
    ['detector.width', [672], [650], 'scrfd', 'must be a multiple of the largest stride, 32'],
    ['detector', [], [{ priors: [[16]] }], 'scrfd', 'priors'],

    ['detector.priors', [[[1], [2048], [16.5, 8]]], [[[16, 32]]], 'retinaface', strides],
    [
      'detector.priors',
      [],
      [[16], [], [[16], [], [32]], [[0.5], [1], [2]], [[1], [2], [2049]]],
      'retinaface',
    ],
    ['detector.variances', [[1e-9, 1000]], [[0.1], [0.1, 0], [0.1, 0.2, 0.3], 0.1], 'retinaface'],
    ['detector.boxes', ['a word'], [undefined, '', ['loc'], null], 'retinaface'],

    ['liveness.family', ['minifasnet'], ['yolo', null]],
    ['liveness.live_threshold', [0, 1], [1.5]],
    ['liveness.nets', [], [[], {}, [null], 'live.onnx']],
    ['liveness.nets.0.scale', [1.0001, 4, 1000], [1, 0, -2, 1000.5, true]],
    ['liveness.nets.1.size', [1, 512], [0, 513, 80.5, null]],
    ['liveness.nets.1.file', ['a.onnx'], ['../a.onnx', '/a.onnx', 'a.i8', '']],
    ['liveness.nets.1.sha256', [], [undefined]],
    ['liveness.nets.1.input', ['a word'], ['', 1, null]],
    ['liveness.nets.0.output', ['a word'], ['', 1, null]],
  ];

  test.each(members)(
    'has a member %s: what it may be, and what not',
    (path, taken, refused, family, message) => {
      const net = {
        file: 'live.onnx',
        sha256: 'a'.repeat(64),
        licence: 'MIT',
        input: 'i',
        output: 'o',
        size: 80,
      };
      const nets = [2.7, 4].map((scale) => ({ ...net, scale }));
      const base = JSON.parse(family === 'yunet' ? yunetManifest : defaultManifest);
      if (family === 'scrfd' || family === 'retinaface') {
        const { offsets: _, ...rest } = base.detector;
        base.detector = { ...rest, family, width: 640, height: 640, ...detectors[family] };
      }
      const whole = { ...base, liveness: { family: 'minifasnet', nets } };
      const read = (value: unknown) => {
        const merged =
          path === 'detector' && value && !Array.isArray(value) ? { ...base.detector, ...value } : value;
        writeManifest(manifestWith(path, merged, JSON.stringify(whole)));
        return readManifest(directory);
      };
      for (const value of taken) expect(() => read(value), JSON.stringify(value)).not.toThrow();
      for (const value of refused) {
        const attempt = () => read(value);
        expect(attempt, JSON.stringify(value)).toThrow(
          `manifest.json is not a valid pack manifest:\n  ${path}`,
        );
        if (message !== undefined) expect(attempt, JSON.stringify(value)).toThrow(message);
      }
    },
  );

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
