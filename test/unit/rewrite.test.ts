import onnxProto from 'onnx-proto';
import { describe, expect, test } from 'vitest';
import { decodeModel, makeFloats, makeNode, type Node } from '../../models/prepare/graph.ts';
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

  function build(
    nodes: Node[],
    constants: Record<string, [dims: number[], values: number[]]> = {},
  ): Uint8Array {
    const { FLOAT } = onnx.TensorProto.DataType;
    const tensor = (name: string) => ({
      name,
      type: { tensorType: { elemType: FLOAT, shape: { dim: shape.map((dimValue) => ({ dimValue })) } } },
    });
    const model = onnx.ModelProto.create({
      irVersion: 7,
      opsetImport: [{ domain: '', version: 9 }],
      graph: {
        name: 'hand-made',
        node: nodes,
        initializer: Object.entries(constants).map(([name, [dims, values]]) =>
          makeFloats(name, dims, Float32Array.from(values)),
        ),
        input: [tensor('x')],
        output: [tensor('y')],
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
    const net = build([makeNode('PRelu', ['x', 'slope'], 'y')], { slope: [[2, 1, 1], slopes] });
    const rewritten = rewriteNet(net);
    expect(operatorsOf(rewritten)).not.toContain('PRelu');
    await expectSameNumbers(net, rewritten);
  });

  test('with a PReLU whose slope is computed is refused by the node’s name', () => {
    const nodes = [makeNode('Relu', ['x'], 'slope'), makeNode('PRelu', ['x', 'slope'], 'y')];
    expect(() => rewriteNet(build(nodes))).toThrow('The slope of PReLU y is not a constant');
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('not a net')],
  ])('that is %s is refused', (_, bytes) => {
    expect(() => rewriteNet(bytes)).toThrow();
  });
});
