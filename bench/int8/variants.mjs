// Embedders in whole numbers that were thought of, each written from the net as published.
import { constantsOf, decodeModel, floatsOf } from '../../dist/models/prepare/graph.js';
import { equalise, flattenSlopes } from './equalise.mjs';
import { encodeModel, openNet } from './graph.mjs';
import { rewritePrelus } from './prelu.mjs';
import { quantise } from './quantise.mjs';
import { histogramsOf, rangeRules, widthsOf } from './ranges.mjs';

const isConv = ({ opType }) => opType === 'Conv';
const whole = ({ opType }) => ['Conv', 'Add', 'Mul', 'LeakyRelu'].includes(opType);
const pointwise = (_, conv) => conv?.kind === 'pointwise';
const largePointwise = (_, conv) => conv?.kind === 'pointwise' && conv.outputs * conv.inputs >= 128 * 256;

/** The convolutions, by the name of what they make, whose error weighs most: the first two, and the last three. */
const sensitive = ['518', '521', '659', '662', '665'];

const bend = 'x + bend (Conv)';
const defaults = { prelu: bend, wants: whole, rule: 'mse', balance: undefined, float: [], settings: {} };

/** `balance` is that of `equalise`, which is left out without one; `stand_in` marks nets whose numbers mean nothing. */
export const variants = {
  'Conv; PReLU float': { prelu: 'PRelu', wants: isConv, rule: 'minmax' },
  'all; PReLU as in the pack': { prelu: 'as in the pack', rule: 'minmax' },
  'all; x + bend': { rule: 'minmax' },
  'all; x + bend; mse': {},
  'all; x + bend (Mul); equalised, mse': { prelu: 'x + bend (Mul)', balance: 0.5 },
  'all; x + bend; equalised, mse': { balance: 0.5 },
  'but 5 convs; x + bend; equalised, min-max': { balance: 0.5, float: sensitive, rule: 'minmax' },
  'but 5 convs; x + bend; equalised, 99.99 %': { balance: 0.5, float: sensitive, rule: 'percentile 99.99' },
  'but 5 convs; x + bend; equalised, mse': { balance: 0.5, float: sensitive },
  '… activations symmetric': { balance: 0.5, float: sensitive, settings: { activations: 'uint8 symmetric' } },
  '… activations int8 (S8S8)': { balance: 0.5, float: sensitive, settings: { activations: 'int8' } },
  '… weights uint8 (U8U8)': { balance: 0.5, float: sensitive, settings: { weightType: 'uint8' } },
  'but 5 convs; convolved twice; equalised, mse': {
    prelu: 'convolved twice',
    balance: 0.5,
    float: sensitive,
  },
  'pointwise; equalised, mse': { prelu: 'as in the pack', wants: pointwise, balance: 0.5 },
  'large pointwise; equalised, mse': { prelu: 'as in the pack', wants: largePointwise, balance: 0.5 },
  'stand-in: LeakyRelu for PReLU': { prelu: 'LeakyRelu (another net)', stand_in: true },
  'stand-in: Relu for PReLU': { prelu: 'Relu (another net)', stand_in: true },
};

/** What a PReLU was rewritten to goes with the convolution that feeds it. */
function withPrelu(graph, names) {
  const all = new Set(names);
  for (const { input, output } of graph.node) {
    const [name] = output;
    const part = /\/(inner|bent|straight)$/.test(name) && all.has(input[0]);
    const sum = input.some((one) => all.has(one) && one.includes('/'));
    if (part || sum) all.add(name);
  }
  return all;
}

/** Answers a function of a variant, which resolves to its ONNX file. `inputs` are those that it is calibrated on. */
export async function writer(published, inputs, shape) {
  const flat = openNet(published);
  flattenSlopes(flat.graph);
  const base = encodeModel(flat);
  const widths = await widthsOf(base, inputs, shape);
  const floats = new Map();
  return async (variant) => {
    const { prelu, wants, rule, balance, float, settings } = { ...defaults, ...variant };
    const key = JSON.stringify([prelu, balance, float]);
    if (!floats.has(key)) {
      const model = decodeModel(base);
      if (balance !== undefined) equalise(model.graph, widths, balance);
      rewritePrelus(model.graph, prelu, (node) => !float.includes(node.input[0]));
      const bytes = encodeModel(model);
      floats.set(key, { bytes, histograms: await histogramsOf(bytes, inputs, shape) });
    }
    const { bytes, histograms } = floats.get(key);
    return quantised(bytes, histograms, { rule, wants, float, settings });
  };
}

/** `bytes` with all that is wanted in whole numbers. */
export function quantised(bytes, histograms, { rule, wants = whole, float = [], settings = {} }) {
  const model = decodeModel(bytes);
  const { graph } = model;
  const kept = withPrelu(graph, float);
  const constants = constantsOf(graph);
  const rangeOf = (tensor) => {
    const histogram = histograms.get(tensor);
    if (histogram) return rangeRules[rule](histogram);
    const values = floatsOf(constants.get(tensor));
    return [Math.min(...values), Math.max(...values)];
  };
  quantise(graph, rangeOf, {
    wants: (node, conv) => !kept.has(node.output[0]) && wants(node, conv),
    ...settings,
  });
  return encodeModel(model);
}
