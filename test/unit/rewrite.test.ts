import onnxProto from 'onnx-proto';
import { InferenceSession } from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';
import { decodeModel, encodeModel, makeFloats, makeNode, type Node } from '../../models/prepare/graph.ts';
import { rewriteNet } from '../../models/prepare/rewrite.ts';
import { compareNets } from '../../models/prepare/verify.ts';

const { onnx } = onnxProto;

function operatorsOf(bytes: Uint8Array): string[] {
  return decodeModel(bytes).graph!.node!.map(({ opType }) => opType!);
}

/** Small nets made by hand: [1, 2, 4, 4] in, `y` out, for what the three published nets do not show. */
describe('a hand-made net', () => {
  const shape = [1, 2, 4, 4];
  const inputs = [1, 2].map((seed) =>
    Float32Array.from({ length: 32 }, (_, i) => Math.sin(seed * 13 + i * 2.3) * 3),
  );

  interface Sketch {
    nodes: Node[];
    constants?: Record<string, [dims: number[], values: number[]]>;
    outputShape: number[];
    irVersion?: number;
    /** As some exporters do. */
    listConstantsAsInputs?: boolean;
  }

  function build({
    nodes,
    constants = {},
    outputShape,
    irVersion = 7,
    listConstantsAsInputs = false,
  }: Sketch): Uint8Array {
    const { FLOAT } = onnx.TensorProto.DataType;
    const tensor = (name: string, dims: number[]) => ({
      name,
      type: { tensorType: { elemType: FLOAT, shape: { dim: dims.map((dimValue) => ({ dimValue })) } } },
    });
    const listed = listConstantsAsInputs
      ? Object.entries(constants).map(([name, [dims]]) => tensor(name, dims))
      : [];
    const model = onnx.ModelProto.create({
      irVersion,
      opsetImport: [{ domain: '', version: 9 }],
      graph: {
        name: 'hand-made',
        node: nodes,
        initializer: Object.entries(constants).map(([name, [dims, values]]) =>
          makeFloats(name, dims, Float32Array.from(values)),
        ),
        input: [tensor('x', shape), ...listed],
        output: [tensor('y', outputShape)],
      },
    });
    return onnx.ModelProto.encode(model).finish();
  }

  async function expectSameNumbers(original: Uint8Array, rewritten: Uint8Array): Promise<void> {
    for (const { max_error } of await compareNets('x', shape, original, rewritten, inputs)) {
      expect(max_error).toBeLessThan(1e-6);
    }
  }

  test.each([
    ['between 0 and 1', [0.25, 0.75]],
    ['below 0', [-0.5, -1.25]],
    ['above 1', [1.5, 3]],
    ['on both sides of 1', [0.25, 1.5]],
    ['of exactly 0 and 1', [0, 1]],
  ])('with PReLU slopes %s keeps its numbers', async (_, slopes) => {
    const net = build({
      nodes: [makeNode('PRelu', ['x', 'slope'], 'y')],
      constants: { slope: [[2, 1, 1], slopes] },
      outputShape: shape,
    });
    const rewritten = rewriteNet(net);
    expect(operatorsOf(rewritten)).not.toContain('PRelu');
    await expectSameNumbers(net, rewritten);
  });

  const between = (after: Node[]): Uint8Array =>
    build({
      nodes: [
        makeNode('Conv', ['x', 'kernel', 'bias'], 'c', { kernel_shape: [1, 1] }),
        makeNode('PRelu', ['c', 'slope'], 'p'),
        ...after,
      ],
      constants: {
        kernel: [
          [2, 2, 1, 1],
          [0.1, -0.2, 0.05, 0.3],
        ],
        bias: [[2], [0.1, -0.2]],
        slope: [
          [2, 1, 1],
          [0.25, 1.5],
        ],
        each: [
          [2, 1, 1, 1],
          [0.4, -0.5],
        ],
        all: [
          [2, 2, 1, 1],
          [-0.1, 0.2, 0.15, 0.3],
        ],
      },
      outputShape: shape,
    });
  const each = (input: string, output: string) =>
    makeNode('Conv', [input, 'each'], output, { group: 2, kernel_shape: [1, 1] });
  const all = (input: string, output: string) =>
    makeNode('Conv', [input, 'all'], output, { kernel_shape: [1, 1] });
  /** What Relu reads: the scaled tensor in the form that is a pass shorter, PReLU's own input in the other. */
  const reluReads = (bytes: Uint8Array) =>
    decodeModel(bytes).graph!.node!.find(({ opType }) => opType === 'Relu')!.input![0];

  test.each<[string, Node[]]>([
    ['a depthwise convolution', [each('p', 'y')]],
    ['a pointwise one', [all('p', 'y')]],
    ['two of them', [each('p', 'q'), all('p', 'r'), makeNode('Add', ['q', 'r'], 'y')]],
  ])('with a slope above 1 between a convolution and %s gets the shorter form', async (_, after) => {
    const net = between(after);
    const rewritten = rewriteNet(net);
    expect(reluReads(rewritten)).toBe('p/inner');
    await expectSameNumbers(net, rewritten);
  });

  test.each<[string, Node[]]>([
    ['a sum reads as well', [each('p', 'q'), makeNode('Add', ['p', 'q'], 'y')]],
    ['whose input is read elsewhere', [each('p', 'q'), makeNode('Add', ['c', 'q'], 'y')]],
    ['whose reader shares its weights', [each('p', 'q'), each('q', 'y')]],
  ])('with a slope above 1 %s gets the longer form', async (_, after) => {
    const net = between(after);
    const rewritten = rewriteNet(net);
    expect(reluReads(rewritten)).toBe('c');
    await expectSameNumbers(net, rewritten);
  });

  test('with a PReLU whose slope is computed is refused by the node’s name', () => {
    const nodes = [makeNode('Relu', ['x'], 'slope'), makeNode('PRelu', ['x', 'slope'], 'y')];
    expect(() => rewriteNet(build({ nodes, outputShape: shape }))).toThrow(
      'The slope of PReLU y is not a constant',
    );
  });

  test('of a version that lists constants as inputs is left with the one true input', async () => {
    const net = build({
      nodes: [makeNode('PRelu', ['x', 'slope'], 'y')],
      constants: {
        slope: [
          [2, 1, 1],
          [0.5, 0.25],
        ],
      },
      outputShape: shape,
      irVersion: 3,
      listConstantsAsInputs: true,
    });
    const rewritten = rewriteNet(net);
    expect((await InferenceSession.create(rewritten)).inputNames).toEqual(['x']);
    await expectSameNumbers(net, rewritten);
  });

  /** A detector's head: pairs of classes from a convolution, brought into rows of two. */
  const head = (): Node[] => [
    makeNode('Conv', ['x', 'kernel', 'bias'], 'c', { kernel_shape: [1, 1] }),
    makeNode('Transpose', ['c'], 't', { perm: [0, 2, 3, 1] }),
    makeNode('Reshape', ['t', 'rows'], 'r'),
    makeNode('Concat', ['r'], 'j', { axis: 1 }),
  ];
  const headConstants = {
    kernel: [
      [4, 2, 1, 1],
      [0.5, -1, 0.25, 2, -0.75, 1.5, 1, 0.1],
    ],
    bias: [[4], [0.1, -0.2, 0.3, 0.4]],
  } satisfies Sketch['constants'];
  const outputShape = [1, 32, 2];

  function buildHead(nodes: Node[]): Uint8Array {
    const model = decodeModel(build({ nodes, constants: headConstants, outputShape }));
    const { INT64 } = onnx.TensorProto.DataType;
    model.graph!.initializer!.push(
      onnx.TensorProto.create({ name: 'rows', dims: [3], dataType: INT64, int64Data: outputShape }),
    );
    return encodeModel(model);
  }

  test('with a softmax over pairs gets a sigmoid and keeps its numbers', async () => {
    const net = buildHead([...head(), makeNode('Softmax', ['j'], 'y', { axis: 2 })]);
    const rewritten = rewriteNet(net);
    expect(operatorsOf(rewritten)).toContain('Sigmoid');
    await expectSameNumbers(net, rewritten);
  });

  test.each<[string, Node[]]>([
    [
      'whose scores are read elsewhere too',
      [...head(), makeNode('Softmax', ['j'], 's', { axis: 2 }), makeNode('Add', ['s', 'j'], 'y')],
    ],
    ['that is not taken over the pairs', [...head(), makeNode('Softmax', ['j'], 'y', { axis: 1 })]],
    [
      'with something between it and the convolutions',
      [...head(), makeNode('Relu', ['j'], 'j2'), makeNode('Softmax', ['j2'], 'y', { axis: 2 })],
    ],
  ])('with a softmax %s is left alone', async (_, nodes) => {
    const net = buildHead(nodes);
    const rewritten = rewriteNet(net);
    expect(operatorsOf(rewritten)).toContain('Softmax');
    await expectSameNumbers(net, rewritten);
  });

  test('loses what no output depends on', async () => {
    const net = build({
      nodes: [makeNode('Relu', ['x'], 'y'), makeNode('PRelu', ['x', 'slope'], 'unused')],
      constants: {
        slope: [
          [2, 1, 1],
          [0.5, 0.25],
        ],
      },
      outputShape: shape,
    });
    const rewritten = rewriteNet(net);
    expect(operatorsOf(rewritten)).toEqual(['Relu']);
    expect(decodeModel(rewritten).graph!.initializer).toEqual([]);
    await expectSameNumbers(net, rewritten);
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('not a net')],
  ])('that is %s is refused', (_, bytes) => {
    expect(() => rewriteNet(bytes)).toThrow();
  });
});
