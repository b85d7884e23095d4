// PReLU in forms that may suit whole numbers better. ONNX Runtime has no PReLU for them.
import {
  constantsOf,
  dimsOf,
  floatsOf,
  makeFloats,
  makeNode,
  producersOf,
  replaceNode,
} from '../../dist/models/prepare/graph.js';
import { rewritePrelu } from '../../dist/models/prepare/prelu.js';

const slopeOf = (graph, node) => floatsOf(constantsOf(graph).get(node.input[1]));

/**
 * The convolution in front twice, a·x and Relu((1 − a)·x), where no slope is above 1, and their sum. The Relu costs
 * nothing: quantising clamps.
 */
function convolveTwice(graph, nodes) {
  for (const node of nodes) {
    const slope = slopeOf(graph, node);
    const conv = producersOf(graph).get(node.input[0]);
    const y = node.output[0];
    const scaled = (factors, to) => {
      const constants = constantsOf(graph);
      const copy = makeNode('Conv', [conv.input[0]], to);
      copy.attribute = conv.attribute;
      for (const name of conv.input.slice(1)) {
        const constant = constants.get(name);
        const values = floatsOf(constant);
        const size = values.length / factors.length;
        const product = values.map((value, i) => value * factors[Math.floor(i / size)]);
        graph.initializer.push(makeFloats(`${to}/${name}`, dimsOf(constant), product));
        copy.input.push(`${to}/${name}`);
      }
      return copy;
    };
    replaceNode(graph, node, [
      makeNode('Relu', [`${y}/inner`], `${y}/bent`),
      makeNode('Add', [`${y}/straight`, `${y}/bent`], y),
    ]);
    replaceNode(graph, conv, [
      scaled(slope, `${y}/straight`),
      scaled(
        slope.map((a) => 1 - a),
        `${y}/inner`,
      ),
    ]);
  }
}

/**
 * x + Relu((a − 1)·x), where no slope is above 1: what is added is one product, a 1×1 depthwise convolution or a Mul, and
 * clamped by quantising.
 */
function addBend(product) {
  return (graph, nodes) => {
    for (const node of nodes) {
      const [x] = node.input;
      const [y] = node.output;
      const weights = slopeOf(graph, node).map((a) => a - 1);
      if (weights.some((weight) => weight > 0)) throw new Error(`PReLU ${y} has a slope above 1`);
      const channels = weights.length;
      const dims = product === 'Mul' ? [1, channels, 1, 1] : [channels, 1, 1, 1];
      graph.initializer.push(makeFloats(`${y}/weights`, dims, weights));
      const attributes = product === 'Mul' ? {} : { group: channels, kernel_shape: [1, 1] };
      replaceNode(graph, node, [
        makeNode(product, [x, `${y}/weights`], `${y}/inner`, attributes),
        makeNode('Relu', [`${y}/inner`], `${y}/bent`),
        makeNode('Add', [x, `${y}/bent`], y),
      ]);
    }
  };
}

/** Not the same function: one slope a tensor. Only shows what a PReLU for whole numbers would gain. */
function standIn(opType) {
  return (graph, nodes) => {
    for (const node of nodes) replaceNode(graph, node, [makeNode(opType, [node.input[0]], node.output[0])]);
  };
}

/** Each changes the PRelu nodes that it is given. */
const forms = {
  PRelu: () => {},
  'x + bend (Conv)': addBend('Conv'),
  'x + bend (Mul)': addBend('Mul'),
  'convolved twice': convolveTwice,
  'LeakyRelu (another net)': standIn('LeakyRelu'),
  'Relu (another net)': standIn('Relu'),
};

/** The PReLUs for which `wants(node)` holds in the form of that name, all others as the service has them. */
export function rewritePrelus(graph, form, wants = () => true) {
  const nodes = graph.node.filter((node) => node.opType === 'PRelu' && wants(node));
  if (form === 'as in the pack') rewritePrelu(graph);
  else forms[form](graph, nodes);
  if (form !== 'PRelu') rewritePrelu(graph);
}
