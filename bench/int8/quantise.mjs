// Static quantisation in QDQ form: QuantizeLinear and DequantizeLinear around what shall run on whole numbers. ONNX
// Runtime fuses DQ → Conv → Q into QLinearConv and keeps it channels-last where it can.
import { constantsOf, makeNode, producersOf, readersOf } from '../../dist/models/prepare/graph.js';
import { convolution, makeTensor } from './graph.mjs';

/** Activations: whole numbers of eight bits from a range. What is never negative takes all of them, so that it is clamped. */
const activationTypes = {
  uint8: ([low, high]) => ({ scale: (high - low) / 255, zero: Math.round((255 * -low) / (high - low)) }),
  'uint8 symmetric': ([low, high]) =>
    low === 0 ? { scale: high / 255, zero: 0 } : { scale: Math.max(-low, high) / 127, zero: 128 },
  int8: ([low, high]) =>
    low === 0 ? { scale: high / 255, zero: -128 } : { scale: Math.max(-low, high) / 127, zero: 0 },
};

/** The scale of each output channel: the weights' largest, or the one with the least squared error. */
export function weightScales({ weights, outputs }, levels = 127) {
  const size = weights.length / outputs;
  return Float32Array.from({ length: outputs }, (_, channel) => {
    const row = weights.subarray(channel * size, (channel + 1) * size);
    const largest = row.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0) || 1;
    if (size < 32) return largest / levels;
    let [best, least] = [largest / levels, Number.POSITIVE_INFINITY];
    for (let share = 1; share >= 0.7; share -= 0.02) {
      const scale = (largest * share) / levels;
      let error = 0;
      for (const weight of row) {
        const whole = Math.max(-levels, Math.min(levels, Math.round(weight / scale)));
        error += (weight - whole * scale) ** 2;
      }
      if (error < least) [best, least] = [scale, error];
    }
    return best;
  });
}

/**
 * Changes `graph` so that the nodes for which `wants(node, convolution?)` holds run on whole numbers. `rangeOf(tensor)`
 * answers [low, high], of a constant too. Biases are int32 of the product of both scales, as QLinearConv wants them. A Relu behind a
 * quantised node falls away: its range begins at 0, and quantising clamps.
 */
export function quantise(graph, rangeOf, { wants, activations = 'uint8', weightType = 'int8' }) {
  const constants = constantsOf(graph);
  const quantised = new Set(
    graph.node.filter((node) =>
      wants(node, node.opType === 'Conv' ? convolution(graph, node, constants) : undefined),
    ),
  );
  clampInsteadOfRelu(graph, quantised);
  const outputs = new Set(graph.output.map(({ name }) => name));
  const parameters = new Map();
  const parametersOf = (tensor) => {
    const [low, high] = rangeOf(tensor);
    if (!parameters.has(tensor)) {
      const made = activationTypes[activations]([Math.min(0, low), Math.max(1e-6, high)]);
      const array = activations === 'int8' ? Int8Array : Uint8Array;
      graph.initializer.push(
        makeTensor(`${tensor}/scale`, [], 'FLOAT', Float32Array.of(made.scale)),
        makeTensor(`${tensor}/zero`, [], array === Int8Array ? 'INT8' : 'UINT8', array.of(made.zero)),
      );
      parameters.set(tensor, { ...made, names: [`${tensor}/scale`, `${tensor}/zero`] });
    }
    return parameters.get(tensor);
  };

  const nodes = [];
  const wholes = new Set();
  const toWhole = (tensor, from) => {
    if (!wholes.has(tensor)) {
      nodes.push(makeNode('QuantizeLinear', [from, ...parametersOf(tensor).names], `${tensor}/whole`));
      wholes.add(tensor);
    }
    return `${tensor}/whole`;
  };
  const back = (tensor, name) => {
    nodes.push(makeNode('DequantizeLinear', [`${tensor}/whole`, ...parametersOf(tensor).names], name));
    return name;
  };
  const quantiseConstants = (node) => {
    const conv = convolution(graph, node, constants);
    const scales = weightScales(conv);
    const input = parametersOf(node.input[0]).scale;
    const size = conv.weights.length / conv.outputs;
    const shift = weightType === 'uint8' ? 128 : 0;
    const whole = (weight, i) =>
      shift + Math.max(-127, Math.min(127, Math.round(weight / scales[Math.floor(i / size)])));
    const array = shift > 0 ? Uint8Array : Int8Array;
    const name = node.output[0];
    const add = (part, dims, type, values) => {
      graph.initializer.push(makeTensor(`${name}/${part}`, dims, type, values));
      return `${name}/${part}`;
    };
    const type = shift > 0 ? 'UINT8' : 'INT8';
    const dequantise = (parts, to) => {
      nodes.push(makeNode('DequantizeLinear', parts, to, { axis: 0 }));
      return to;
    };
    const biasScales = scales.map((scale) => scale * input);
    return [
      dequantise(
        [
          add('weight', conv.dims, type, array.from(conv.weights, whole)),
          add('weight/scale', [conv.outputs], 'FLOAT', scales),
          add('weight/zero', [conv.outputs], type, new array(conv.outputs).fill(shift)),
        ],
        `${name}/weight/back`,
      ),
      dequantise(
        [
          add(
            'bias',
            [conv.outputs],
            'INT32',
            Int32Array.from(conv.bias, (bias, i) => Math.round(bias / biasScales[i])),
          ),
          add('bias/scale', [conv.outputs], 'FLOAT', biasScales),
          add('bias/zero', [conv.outputs], 'INT32', new Int32Array(conv.outputs)),
        ],
        `${name}/bias/back`,
      ),
    ];
  };

  for (const node of graph.node) {
    if (!quantised.has(node)) {
      nodes.push(node);
      continue;
    }
    const [output] = node.output;
    // A DQ of its own for each reader, or the runtime would not take the group for its own.
    const inputs = node.input.slice(0, node.opType === 'Conv' ? 1 : 2).map((tensor) => {
      toWhole(tensor, tensor);
      return back(tensor, `${tensor}/for/${output}`);
    });
    if (node.opType === 'Conv') inputs.push(...quantiseConstants(node));
    node.input = inputs;
    node.name = `${output}/raw`;
    node.output = [node.name];
    nodes.push(node);
    toWhole(output, `${output}/raw`);
    const floatReaders =
      outputs.has(output) || graph.node.some((n) => !quantised.has(n) && n.input.includes(output));
    if (floatReaders) back(output, output);
  }
  graph.node = nodes;
}

function clampInsteadOfRelu(graph, quantised) {
  const readers = readersOf(graph);
  const producers = producersOf(graph);
  graph.node = graph.node.filter((node) => {
    const [input] = node.input;
    const producer = producers.get(input);
    if (node.opType !== 'Relu' || !quantised.has(producer) || readers.get(input) !== 1) return true;
    producer.output = [...node.output];
    return false;
  });
}
