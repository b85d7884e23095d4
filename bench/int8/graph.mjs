// The net as published, ready for QDQ; and what the passes of this folder share.
import onnxProto from 'onnx-proto';
import { attributeOf, constantsOf, decodeModel, dimsOf, floatsOf } from '../../dist/models/prepare/graph.js';
import { dropConstantInputs, hoistConstants } from '../../dist/models/prepare/tidy.js';

export { encodeModel } from '../../dist/models/prepare/graph.js';

const { onnx } = onnxProto;

/** From this opset on a weight may have one scale a channel. Of what the nets use, only Unsqueeze has changed since 9. */
const opset = 13;
const irVersion = 7;

/** A fresh copy of the net that a pass may change. */
export function openNet(bytes) {
  const model = decodeModel(bytes);
  model.irVersion = irVersion;
  model.opsetImport = [onnx.OperatorSetIdProto.create({ domain: '', version: opset })];
  hoistConstants(model.graph);
  dropConstantInputs(model.graph);
  for (const node of model.graph.node.filter(({ opType }) => opType === 'Unsqueeze')) {
    const axes = BigInt64Array.from(attributeOf(node, 'axes').ints, (axis) => BigInt(Number(axis)));
    const name = `${node.output[0]}/axes`;
    model.graph.initializer.push(makeTensor(name, [axes.length], 'INT64', axes));
    node.input.push(name);
    node.attribute = [];
  }
  return model;
}

/** One constant of any type; `values` is a typed array. */
export function makeTensor(name, dims, dataType, values) {
  const rawData = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return onnx.TensorProto.create({ name, dims, dataType: onnx.TensorProto.DataType[dataType], rawData });
}

/** What a convolution is: its weights as floats, laid out out × in/group × height × width, and its kind. */
export function convolution(graph, node, constants = constantsOf(graph)) {
  const [, weightName, biasName] = node.input;
  const weight = constants.get(weightName);
  const dims = dimsOf(weight);
  const [outputs, inputs, height, width] = dims;
  const group = Number(attributeOf(node, 'group')?.i ?? 1);
  const pointwise = height === 1 && width === 1;
  return {
    weights: floatsOf(weight),
    bias: biasName ? floatsOf(constants.get(biasName)) : new Float32Array(outputs),
    dims,
    outputs,
    inputs,
    group,
    kind: group > 1 ? 'depthwise' : pointwise ? 'pointwise' : 'full',
  };
}
