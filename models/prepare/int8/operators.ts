import onnxProto from 'onnx-proto';
import { type LocalFunction, makeNode, type Node } from '../graph.ts';

const { onnx } = onnxProto;
const { FLOAT } = onnx.AttributeProto.AttributeType;

/** Where operators beyond ONNX's own come from: the runtime, and native/core/runtime/byte_prelu.cpp. */
export const domains = { runtime: 'com.microsoft', own: 'facematch' } as const;

export const bytePreluName = 'BytePRelu';

/**
 * PReLU on bytes, channels last, as ONNX's own operators say it:
 *
 *   y = saturate(⌊up · max(x − x_zero, 0) + down · min(x − x_zero, 0) + ½⌋ + y_zero)
 *
 * In the file it is what the operator means: a runtime without the addon's runs this, to the same bytes, since a float
 * holds each of these products exactly.
 */
export function bytePrelu(opset: number): LocalFunction {
  return onnx.FunctionProto.create({
    name: bytePreluName,
    domain: domains.own,
    opsetImport: [onnx.OperatorSetIdProto.create({ domain: '', version: opset })],
    input: ['x', 'x_zero', 'up', 'down', 'y_zero'],
    output: ['y'],
    node: [
      makeFloat('one', 1),
      makeFloat('half', 0.5),
      makeNode('DequantizeLinear', ['x', 'one', 'x_zero'], 'distance'),
      makeNode('Relu', ['distance'], 'above'),
      makeNode('Sub', ['distance', 'above'], 'below'),
      makeNode('Mul', ['above', 'up'], 'rising'),
      makeNode('Mul', ['below', 'down'], 'falling'),
      makeNode('Add', ['rising', 'falling'], 'bent'),
      makeNode('Add', ['bent', 'half'], 'raised'),
      makeNode('Floor', ['raised'], 'whole'),
      makeNode('QuantizeLinear', ['whole', 'one', 'y_zero'], 'y'),
    ],
  });
}

function makeFloat(name: string, f: number): Node {
  const value = onnx.AttributeProto.create({ name: 'value_float', type: FLOAT, f });
  return onnx.NodeProto.create({ opType: 'Constant', name, output: [name], attribute: [value] });
}

const largestFactor = 32767;
const mostBits = 15;

/** Factors of one BytePRelu, rounded to what its 16-bit numbers hold, with as many bits behind the point as all leave room for. */
export function roundFactors(factors: number[]): number[] {
  const largest = Math.max(...factors.map(Math.abs));
  const bits = Math.min(mostBits, Math.floor(Math.log2(largestFactor / largest)));
  return factors.map((factor) => Math.round(factor * 2 ** bits) / 2 ** bits);
}
