import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { familyDefaults } from '../../lab/packs/family-defaults.ts';
import { projectPath } from '../../src/config/paths.ts';
import { familyNames } from '../../src/engine/families.ts';
import {
  packDirectory,
  packNets,
  parseCalibratedManifest,
  readCalibratedManifest,
  readManifest,
  sourceOf,
} from '../../src/engine/manifest.ts';
import { newFolder } from '../support/folder.ts';
import { without } from '../support/without.mjs';

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

/** Members that replace those of the default detector, by family. */
const detectors = {
  scrfd: { ...familyDefaults.scrfd!.grids, scores: ['443', '468', '493'], boxes: ['446', '471', '496'] },
  retinaface: { ...familyDefaults.retinaface!.grids, scores: 'conf', boxes: 'loc' },
};

/** Returns the default manifest with liveness nets, or one with a detector of the family. */
function manifestOf(family?: string): Json {
  const base = JSON.parse(family === 'yunet' ? yunetManifest : defaultManifest);
  // Keeps three points of each table, so that the tests are short.
  for (const table of Object.values<{ points: unknown[] }>(base.calibration)) table.points.splice(3);
  if (family === 'scrfd' || family === 'retinaface') {
    const square = { width: 640, height: 640 };
    base.detector = { ...without(base.detector, 'offsets'), family, ...square, ...detectors[family] };
  }
  const named = { file: 'live.onnx', licence: 'MIT', input: 'i', output: 'o' };
  const net = { ...named, sha256: 'a'.repeat(64), size: 80, scale: 2.7 };
  const nets = [net, { ...net, scale: 4 }];
  return { ...base, liveness: { family: 'minifasnet', live_threshold: 0.5, nets } };
}

/** Returns a manifest with the member at a dotted path set; undefined removes it. */
function manifestWith(path: string, value: unknown, from = JSON.parse(defaultManifest) as Json): string {
  const manifest = structuredClone(from);
  const members = path.split('.');
  const last = members.pop()!;
  const parent = members.reduce((object, member) => object[member] as Json, manifest);
  parent[last] = value;
  return JSON.stringify(manifest);
}

const parseWith = (path: string, value: unknown, from?: Json) =>
  parseCalibratedManifest(manifestWith(path, value, from), 'manifest.json');

describe('packDirectory', () => {
  test.each([
    ['default', projectPath('models/packs/default')],
    ['./default', resolve('default')],
    ['packs/mine', resolve('packs/mine')],
    ['/srv/packs/mine', '/srv/packs/mine'],
    ['.', resolve('.')],
  ])('resolves %s to %s', (nameOrPath, expected) => {
    expect(packDirectory(nameOrPath)).toBe(expected);
  });

  test('rejects an empty name', () => {
    expect(() => packDirectory('')).toThrow('Expected the name or the path of a model pack');
  });
});

test('lists models in the order of their use, with the source of each', () => {
  const manifest = readCalibratedManifest(projectPath('models/packs/default'));
  const { detector, close_detector, ...rest } = manifest;
  const nets = [...packNets(manifest)].map(([role, { file }]) => `${role} ${file}`);
  expect(nets).toEqual([
    ...['detector detect.onnx', 'close_detector detect-close.onnx'],
    ...['landmarks landmark.onnx', 'embedder embed.onnx'],
  ]);
  expect([...packNets({ detector, ...rest }).keys()]).toEqual(['detector', 'landmarks', 'embedder']);
  expect(sourceOf(manifest, close_detector!)).toEqual(close_detector!.source);
  expect(sourceOf(manifest, detector)).toBe(manifest.source);
  expect(sourceOf(manifest, { ...detector, from: { pack: 'default' } })).toBeUndefined();
});

describe('a manifest', () => {
  test('is reported with the pack’s directory if it is missing', () => {
    expect(() => readCalibratedManifest(directory)).toThrow(
      `There is no model pack in ${directory}: cannot read ${join(directory, 'manifest.json')} (ENOENT). List the installed packs: facematch packs list`,
    );
  });

  test.each([
    ['truncated', defaultManifest.slice(0, 500)],
    ['not JSON', 'name: default'],
  ])('is rejected as invalid JSON, with the file’s name, if it is %s', (_what, text) => {
    writeManifest(text);
    const message = `${join(directory, 'manifest.json')} is not valid JSON`;
    expect(() => readCalibratedManifest(directory)).toThrow(message);
  });

  const membersOf = (parent: object, prefix = ''): [path: string, value: unknown][] =>
    Object.entries(parent).flatMap(([name, value]) => {
      const path = prefix + name;
      return [[path, value], ...(value && typeof value === 'object' ? membersOf(value, `${path}.`) : [])];
    });
  const wrong = { number: [1e300, -1e300, '1', true, null], string: ['', 1, null] } as Record<
    string,
    unknown[]
  >;

  test.each([undefined, 'yunet', 'scrfd', 'retinaface'])(
    'is rejected if a member has a wrong type or is out of range, empty or unknown: %s',
    (family) => {
      const manifest = manifestOf(family);
      expect(() => parseWith('name', 'a', manifest)).not.toThrow();
      for (const [path, value] of membersOf(manifest)) {
        // Skips similarities, which may be any number.
        if (/points\.\d+\.0$/.test(path)) continue;
        // The manifests of these families differ from the default only in the detector.
        if ((family === 'scrfd' || family === 'retinaface') && !path.startsWith('detector')) continue;
        const others = Array.isArray(value)
          ? [[], null, 'a']
          : [null, [], { ...(value as object), unknown: 1 }];
        for (const other of wrong[typeof value] ?? others)
          expect(() => parseWith(path, other, manifest), `${path} ${other}`).toThrow(
            'manifest.json is not a valid pack manifest',
          );
      }
    },
  );

  const five = (...points: [number, number][]) => points;
  const template = five([0, 0], [112, 0], [5, 5], [0, 112], [112, 112]);
  const strides = 'must have one item for each stride';
  const rising = 'must be in ascending order, each a multiple of the previous one';
  const upright = "must have the person's left eye right of the right eye, and the mouth below the eyes";

  /** A member of each kind, with accepted and rejected values. */
  const members: [path: string, taken: unknown[], rejected: unknown[], family?: string, message?: string][] =
    [
      ['detector.channels', ['bgr'], ['grey', 'gbr']],
      ['landmarks.channels', ['grey'], ['rgb', 'bgr']],
      [
        'detector.file',
        ['-_.onnx'],
        ['../a.onnx', '/a.onnx', '.onnx', 'détect.onnx', 'a.onnx\0', 'a.onnx\n'],
      ],
      ['liveness.nets.1.file', ['a.onnx'], ['../a.onnx', 'a.i8']],
      ['cohort.file', ['human.i8'], ['../cohort.i8', 'cohort.onnx', '/dev/zero']],
      ['detector.sha256', ['a'.repeat(64)], ['ABCD', 'A'.repeat(64), undefined]],
      ['detector', [], [{ scores: 'offsets' }, undefined], 'default'],
      ['detector.width', [1, 2048, 320.0], [0, 2049, 2.5, -320, 4294967616]],
      ['landmarks.size', [64.0, 512], [513, 0]],
      ['embedder.size', [112, 512], [513, 0]],
      ['embedder.dimensions', [1, 4096], [0, 4097, 1.5]],
      ['detector.mean', [-1000, 0, 1000], [1000.1]],
      ['embedder.mean', [[1, 2.5, -1000]], [[1, 2]]],
      ['embedder.mean', [], [[1, 2, 3, 4]]],
      ['embedder.mean', [], [[1, 2, 1001]]],
      ['landmarks.mean', [1], [[1, 2, 3]]],
      ['embedder.scale', [1e-9, 1000], [0, 9e-10, 1001]],
      ['landmarks.crop', [0.1, 10], [0.09, 10.5]],
      ['landmarks.upright_degrees', [0, 180], [-1, 181]],
      ['landmarks.max_instability', [undefined], [{ quick: 0.1 }]],
      ['detector.clear_score', [0, 1, undefined], [-0.1, 1.1]],
      ['embedder.template', [template], [five([1, 2]), [[-1, 0], ...template.slice(1)]]],
      [
        'embedder.template',
        [],
        [[[113, 0], ...template.slice(1)]],
        'default',
        'must be inside the aligned face',
      ],
      ['embedder.template', [], [five([9, 9], [19, 9], [9, 9], [9, 9], [9, 9])], 'default', upright],
      ['embedder.template', [], [five([19, 9], [9, 9], [9, 9], [9, 19], [9, 19])], 'default', upright],
      ['cohort.centres', [1, 16384], [0, 16385, 1.5]],
      ['cohort.weight', [0, 1000], [-1]],
      ['calibration.fast.points', [], [[[0, 1]]]],
      ['calibration.fast.floor', [0.1], [0, 0.2]],
      ['source.kind', [], ['git'], 'default', 'must be one of npm, project'],
      [
        'landmarks.from',
        ['a/b', { pack: 'default' }],
        [{}, { pack: '../default' }, { pack: 'a', file: 'b' }],
      ],
      ['close_detector.source.integrity', [], ['sha512-']],
      ['detector.family', [], ['yolo'], '', `must be one of ${familyNames.join(', ')}`],
      ['close_detector.width', [112], [120], 'default', 'must be a multiple of the largest stride, 16'],
      ['liveness.nets.0.scale', [1.0001, 1000], [1, 1000.5]],

      ['detector.cls', [['a', 'b', 'c']], [undefined], 'yunet'],
      ['detector.obj', [['a', 'b', 'c']], [['a', 'b']], 'yunet', strides],
      ['detector.obj', [], [['a', 'b', 'c', 'd']], 'yunet', strides],
      ['detector', [], [{ bbox: ['cls_8', 'b', 'c'] }], 'yunet', 'names an output twice'],

      ['detector.strides', [[1, 2.0, 4]], [[0, 8, 16]], 'scrfd'],
      ['detector.strides', [], [[64, 128, 256]], 'scrfd'],
      ['detector.strides', [], [[8.5, 17, 34]], 'scrfd'],
      ['detector.strides', [], [[8, 8, 16]], 'scrfd', rising],
      ['detector.strides', [], [[8, 12, 24]], 'scrfd', rising],
      ['detector.anchors', [1, 16], [0, 17, 2.5], 'scrfd'],
      ['detector', [], [{ priors: [[16]] }], 'scrfd', 'priors'],

      ['detector.priors', [[[1], [2048], [16.5, 8]]], [[[16, 32]]], 'retinaface', strides],
      ['detector.priors', [], [[[16], [], [32]]], 'retinaface'],
      ['detector.priors', [], [[[0.5], [1], [2]]], 'retinaface'],
      ['detector.priors', [], [[[1], [2], [2049]]], 'retinaface'],
      ['detector.variances', [[1e-9, 1000]], [[0.1], [0.1, 0]], 'retinaface'],
    ];

  test.each(members)(
    'limits the values of its member %s',
    (path, taken, rejected, family, message = path) => {
      const base = manifestOf(family);
      const read = (value: unknown) =>
        parseWith(
          path,
          path === 'detector' && value ? { ...(base.detector as Json), ...value } : value,
          base,
        );
      for (const value of taken) expect(() => read(value), JSON.stringify(value)).not.toThrow();
      for (const value of rejected) {
        const attempt = () => read(value);
        expect(attempt, JSON.stringify(value)).toThrow(`is not a valid pack manifest:\n  ${path}`);
        expect(attempt, JSON.stringify(value)).toThrow(message);
      }
    },
  );

  test('is accepted without a calibration only by readManifest', () => {
    writeManifest(manifestWith('calibration', undefined));
    expect(readManifest(directory).calibration).toBeUndefined();
    expect(() => readCalibratedManifest(directory)).toThrow(
      'calibration: is missing; fit it with: npx facematch calibrate',
    );
    writeManifest(manifestWith('calibration', {}));
    expect(() => readManifest(directory)).toThrow('calibration.fast: ');
  });
});
