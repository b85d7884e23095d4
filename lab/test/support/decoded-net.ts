import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  decodeModel,
  encodeModel,
  type Graph,
  makeFloats,
  makeNode,
  renameTensor,
} from '../../../models/prepare/graph.ts';
import { packDirectory } from '../../../src/engine/manifest.ts';

/** The default pack's detector for one size, which decodes its own boxes and calls them as it called their offsets. */
export function decodedNet(): Uint8Array {
  const [width, height] = [320, 240];
  const grids = [
    { stride: 8, sides: [10, 16, 24] },
    { stride: 16, sides: [32, 48] },
    { stride: 32, sides: [64, 96] },
    { stride: 64, sides: [128, 192, 256] },
  ];
  const centres: number[] = [];
  const sizes: number[] = [];
  for (const { stride, sides } of grids) {
    const [columns, rows] = [Math.ceil(width / stride), Math.ceil(height / stride)];
    for (let cell = 0; cell < columns * rows; cell++)
      for (const side of sides) {
        centres.push(((cell % columns) + 0.5) / columns, (Math.floor(cell / columns) + 0.5) / rows);
        sizes.push(Math.min(side / width, 1), Math.min(side / height, 1));
      }
  }
  const model = decodeModel(readFileSync(join(packDirectory('default'), 'detect.onnx')));
  const graph = model.graph as Graph;
  const dims = [1, 3, height, width].map((dimValue) => ({ dimValue }));
  graph.input[0]!.type!.tensorType!.shape = { dim: dims };
  renameTensor(graph, 'offsets', 'raw');
  const constant = (name: string, values: number[]) =>
    makeFloats(name, [1, values.length / 2, 2], Float32Array.from(values));
  graph.initializer.push(
    ...[constant('centres', centres), constant('sizes', sizes), constant('half', [0.5, 0.5])],
    ...[constant('of centre', [0.1, 0.1]), constant('of size', [0.2, 0.2])],
  );
  graph.node.push(
    makeNode('Split', ['raw'], 'moved', { axis: 2 }),
    makeNode('Mul', ['moved', 'of centre'], 'tenths'),
    makeNode('Mul', ['tenths', 'sizes'], 'shift'),
    makeNode('Add', ['shift', 'centres'], 'middle'),
    makeNode('Mul', ['grown', 'of size'], 'logarithm'),
    makeNode('Exp', ['logarithm'], 'times'),
    makeNode('Mul', ['times', 'sizes'], 'whole'),
    makeNode('Mul', ['whole', 'half'], 'halves'),
    makeNode('Sub', ['middle', 'halves'], 'first'),
    makeNode('Add', ['middle', 'halves'], 'last'),
    makeNode('Concat', ['first', 'last'], 'offsets', { axis: 2 }),
  );
  graph.node.find(({ opType }) => opType === 'Split')!.output = ['moved', 'grown'];
  return encodeModel(model);
}
