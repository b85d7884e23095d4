import { describe, expect, test } from 'vitest';
import { decodeModel, makeNode, type Node } from '../../models/prepare/graph.ts';
import { decodeFactors } from '../../models/prepare/int8/index.ts';
import { roundFactors } from '../../models/prepare/int8/quantise.ts';
import { rewriteNet } from '../../models/prepare/rewrite.ts';
import { compareNets } from '../../models/prepare/verify.ts';
import { encodeNet } from '../fixtures/nets.ts';

function operatorsOf(bytes: Uint8Array): string[] {
  return decodeModel(bytes).graph!.node!.map(({ opType }) => opType!);
}

/**
 * Tests small nets with the input [1, 2, 4, 4] and the output `y`, for cases that the three published nets do not
 * cover.
 */
describe('a hand-made net', () => {
  const shape = [1, 2, 4, 4];
  const inputs = [1, 2].map((seed) =>
    Float32Array.from({ length: 32 }, (_item, i) => Math.sin(seed * 13 + i * 2.3) * 3),
  );

  const build = (nodes: Node[], constants: Record<string, [dims: number[], values: number[]]> = {}) =>
    encodeNet({ nodes, constants, inputs: { x: shape }, outputs: { y: shape }, opset: 9 });

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
  ])('returns the same numbers after the PReLU is replaced, with slopes %s', async (_what, slopes) => {
    const net = build([makeNode('PRelu', ['x', 'slope'], 'y')], { slope: [[2, 1, 1], slopes] });
    const rewritten = rewriteNet(net);
    expect(operatorsOf(rewritten)).not.toContain('PRelu');
    await expectSameNumbers(net, rewritten);
  });

  test('is rejected with the node’s name if the slope of a PReLU is computed', () => {
    const nodes = [makeNode('Relu', ['x'], 'slope'), makeNode('PRelu', ['x', 'slope'], 'y')];
    expect(() => rewriteNet(build(nodes))).toThrow('The slope of PReLU y is not a constant');
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('not a net')],
  ])('is rejected if it is %s', (_what, bytes) => {
    expect(() => rewriteNet(bytes)).toThrow();
  });
});

test.each([
  ['below 1', [0.3, -0.7], 15],
  ['of nearly 1', [0.9999, 0.1], 15],
  ['that would be rounded to 1', [0.99999, 0.1], 14],
  ['of almost 2', [0.1, -1.9999], 14],
  ['far above 1', [9.3, 0.01], 11],
])('rounds factors %s to as many fractional bits as fit into 15 bits', (_what, factors, bits) => {
  const rounded = roundFactors(factors);
  const whole = rounded.map((factor) => factor * 2 ** bits);
  for (const [i, factor] of rounded.entries()) {
    expect(Math.abs(whole[i]!)).toBeLessThanOrEqual(32767);
    expect(Number.isInteger(whole[i])).toBe(true);
    expect(Math.abs(factor - factors[i]!)).toBeLessThanOrEqual(2 ** -bits);
  }
});

test.each([
  [-4, 0.5],
  [0, 1],
  [1, 1.25],
  [4, 2],
  [127, 1.75 * 2 ** 31],
])('decodes the code %d to the factor %d', (code, expected) => {
  expect([...decodeFactors(Buffer.from([code & 255]).toString('base64'))]).toEqual([expected]);
});
