import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeIntegers, makeNode } from '../../models/prepare/graph.ts';
import { loadAddon } from '../../src/engine/load-addon.ts';
import { packDirectory } from '../../src/engine/manifest.ts';
import { encodeNet } from '../../test/fixtures/nets.ts';
import { newFolder } from '../../test/support/folder.ts';
import { describeDetector, describeEmbedder, describeLandmarks } from '../packs/describe.ts';
import { familyDefaults, knownFamilies } from '../packs/family-defaults.ts';

/** Tests that models are described, and their families derived, from their files. */

const folder = newFolder();

interface Head {
  name: string;
  stride: number;
  /** Number of rows per cell. Each row has `columns` numbers. */
  each: number;
  columns: number;
}

/**
 * Writes a net whose outputs have the shapes of a detector's outputs: each is a convolution with the stride of its
 * grid. Returns the path.
 */
function detectorNet(heads: readonly Head[], { sides = [0, 0], rank = 2, declared = 0 } = {}): string {
  const open = (dims: number[]) => dims.map((side) => (side > 0 ? side : '?'));
  const nodes = heads.flatMap(({ name, stride }) => [
    makeNode('Conv', ['input.1', `${name}.w`], `${name}.c`, {
      kernel_shape: [stride, stride],
      strides: [stride, stride],
    }),
    makeNode('Transpose', [`${name}.c`], `${name}.t`, { perm: [0, 2, 3, 1] }),
    makeNode('Reshape', [`${name}.t`, `${name}.s`], name),
  ]);
  const constants = Object.fromEntries(
    heads.map(({ name, stride, each, columns }): [string, [number[], Float32Array]] => {
      const dims = [each * columns, 3, stride, stride];
      return [`${name}.w`, [dims, new Float32Array(dims.reduce((product, side) => product * side))]];
    }),
  );
  const batch = rank === 2 ? [] : [1];
  const tensors = heads.map(({ name, columns }) => makeIntegers(`${name}.s`, [...batch, -1, columns]));
  const outputs = heads.map(({ name, columns }) => [name, open([...batch, declared, columns])]);
  const inputs = { 'input.1': [1, 3, ...open(sides)] };
  const file = join(folder, `${Math.random()}.onnx`);
  writeFileSync(file, encodeNet({ nodes, constants, tensors, inputs, outputs: Object.fromEntries(outputs) }));
  return file;
}

const strides = [8, 16, 32];
/** Outputs named as in InsightFace's files: by numbers, in the order scores, boxes, points. */
const scrfd = [1, 4, 10].flatMap((columns, kind) =>
  strides.map((stride, i) => ({ name: String(443 + 25 * i + 3 * kind), stride, each: 2, columns })),
);

describe('describing a detector', () => {
  test.each([
    ['dynamic sides, rank 2', {}, [640, 640]],
    ['dynamic sides, rank 3', { rank: 3 }, [640, 640]],
    ['fixed sides', { sides: [384, 640] }, [384, 640]],
    ['outputs declared for another size', { sides: [320, 320], declared: 12_800 }, [320, 320]],
  ])('recognises SCRFD by the shapes of its outputs: %s', (_what, options, [height, width]) => {
    const [only, ...more] = describeDetector(detectorNet(scrfd, options), undefined);
    expect(more).toEqual([]);
    const { members, assumed, min_det_score } = only!;
    expect(members).toEqual({
      family: 'scrfd',
      input: 'input.1',
      channels: 'rgb',
      mean: 127.5,
      scale: 1 / 128,
      nms_iou: 0.4,
      second_look_score: 0.6,
      strides,
      anchors: 2,
      scores: ['443', '468', '493'],
      boxes: ['446', '471', '496'],
      width,
      height,
    });
    expect(min_det_score).toBe(0.5);
    expect(assumed[0]).toBe('detector: family scrfd, by its outputs');
  });

  test.each(knownFamilies)('recognises the family %s by its output shapes', (name) => {
    const { side, grids } = familyDefaults[name]!;
    const shapes = loadAddon().detectorOutputs({ family: name, width: side, height: side, ...grids });
    const named = shapes.map(({ member, stride, rows, columns }) => {
      return { name: `${member}_${stride}`, shape: [1, rows === 0 ? 20 : rows, columns] };
    });
    const file = join(folder, `${name}.onnx`);
    const nodes = named.map((one) => makeNode('ConstantOfShape', [`${one.name}.s`], one.name));
    const tensors = named.map((one) => makeIntegers(`${one.name}.s`, one.shape));
    const outputs = Object.fromEntries(named.map((one) => [one.name, one.shape]));
    const inputs = { image: [1, side, side, 3] };
    writeFileSync(file, encodeNet({ nodes, constants: {}, tensors, inputs, outputs }));
    const candidate = describeDetector(file, undefined).find(({ members }) => members.family === name);
    expect(candidate?.members).toMatchObject({ input: 'image', width: side, height: side });
  });
});

describe('describing an embedder', () => {
  test('assumes InsightFace’s input scaling by default', () => {
    const file = join(packDirectory('default'), 'embed.onnx');
    const described = (preprocessing?: 'adaface') =>
      describeEmbedder(file, { output: undefined, preprocessing });
    expect(described().members).toMatchObject({
      output: 'output',
      dimensions: 512,
      channels: 'rgb',
      mean: 127.5,
    });
    expect(described('adaface').members).toMatchObject({ channels: 'bgr' });
  });

  test('rejects a net with a non-square input or with several output vectors', () => {
    const heads = ['a', 'b'].map((name) => ({ name, stride: 56, each: 1, columns: 64 }));
    const file = detectorNet(heads, { sides: [112, 112] });
    const rejected = () => describeEmbedder(file, { output: undefined, preprocessing: undefined });
    expect(rejected).toThrow(/"a" 4×64, "b" 4×64\. Select one with --embedder-output/);
    const wide = detectorNet(heads, { sides: [112, 224] });
    expect(() => describeEmbedder(wide, { output: 'a', preprocessing: undefined })).toThrow('must be square');
  });
});

/** Writes a net whose outputs have these shapes for any input. Returns the path. */
function netOf(shapes: readonly (readonly number[])[], input: readonly (number | string)[]): string {
  const names = shapes.map((_shape, i) => `out${i}`);
  const nodes = names.map((name) => makeNode('ConstantOfShape', [`${name}.s`], name));
  const tensors = shapes.map((shape, i) => makeIntegers(`out${i}.s`, [...shape]));
  const outputs = Object.fromEntries(names.map((name, i) => [name, [...shapes[i]!]]));
  const file = join(folder, `${Math.random()}.onnx`);
  writeFileSync(file, encodeNet({ nodes, constants: {}, tensors, inputs: { image: [...input] }, outputs }));
  return file;
}

describe('describing a net of another kind', () => {
  const roles = {
    detector: (file: string) => describeDetector(file, undefined),
    embedder: (file: string) => describeEmbedder(file, { output: undefined, preprocessing: undefined }),
    landmarks: describeLandmarks,
  };

  test.each<[words: string, shapes: number[][]]>([
    ['a face quality model (one number for an image)', [[1, 1]]],
    ['a head pose model (three angles), or one of three classes', [[1, 3]]],
    ['a head pose model (three angles or a rotation)', [[1, 3, 3]]],
    ['a head pose model (three angles or a rotation)', [[1, 66, 3]]],
    [
      'a head pose model (three angles or a rotation)',
      [
        [1, 66],
        [1, 66],
        [1, 66],
      ],
    ],
    ['a liveness model (two classes)', [[1, 2]]],
    ['a landmark model (5 points)', [[1, 10]]],
    ['a landmark model (68 points)', [[1, 136]]],
    ['a landmark model (106 points)', [[1, 212]]],
    [
      'a landmark model (468 points)',
      [
        [1, 1, 1, 1404],
        [1, 1, 1, 1],
      ],
    ],
  ])('rejects the net as %s: %j', (words, shapes) => {
    const file = netOf(shapes, [1, 3, 112, 112]);
    for (const describeIt of Object.values(roles))
      expect(() => describeIt(file)).toThrow(`It seems to be ${words}.`);
  });

  test('recognises the kind even if the net does not run with the input size that its role assumes', () => {
    const file = join(folder, 'other-sides.onnx');
    const nodes = [
      makeNode('Reshape', ['image', 'sides'], 'square'),
      makeNode('GlobalAveragePool', ['square'], 'mean'),
      makeNode('Flatten', ['mean'], 'angles', { axis: 1 }),
    ];
    const tensors = [makeIntegers('sides', [1, 3, 64, 64])];
    const inputs = { image: [1, 3, 'height', 'width'] };
    writeFileSync(file, encodeNet({ nodes, constants: {}, tensors, inputs, outputs: { angles: [1, 3] } }));
    expect(() => roles.embedder(file)).toThrow(
      /other-sides\.onnx does not run with an input of shape 1×3×112×112; its outputs are "angles" 1×3\. It seems to be a head pose/,
    );
    expect(() => roles.detector(file)).toThrow('It seems to be a head pose model');
  });

  test('accepts the net as an embedder if the user names its output', () => {
    const file = netOf([[1, 136]], [1, 3, 112, 112]);
    const named = describeEmbedder(file, { output: 'out0', preprocessing: undefined });
    expect(named.members).toMatchObject({ output: 'out0', dimensions: 136 });
  });
});

test('describes a file from its declarations without running it', () => {
  const { inputs, outputs } = loadAddon().describeNet(detectorNet(scrfd.slice(0, 1), { declared: 12_800 }));
  expect(inputs).toEqual([{ name: 'input.1', type: 'float', shape: [1, 3, -1, -1] }]);
  expect(outputs).toMatchObject([{ name: '443', type: 'float' }]);
});

test('rejects a file without inputs and states the reason', () => {
  const file = join(folder, 'constant.onnx');
  const nodes = [makeNode('Identity', ['one'], 'out')];
  writeFileSync(file, encodeNet({ nodes, constants: { one: [[1], [1]] }, outputs: { out: [1] } }));
  expect(() => loadAddon().describeNet(file, [1, 3, 8, 8])).toThrow('has no input');
});
