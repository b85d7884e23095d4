import { copyFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import onnxProto from 'onnx-proto';
import { makeFloats, makeNode } from '../../../models/prepare/graph.ts';
import { packDirectory, sha256 } from '../../../src/engine/pack.ts';

const { onnx } = onnxProto;

/**
 * A small net with the inputs and outputs of OpenCV's SFace: `data` 1×3×112×112 in, RGB of 0–255; `fc1` 1×128 out. Two filters over
 * 8×8 cells of 14×14 pixels, as small as can be.
 */
const size = 112;
const cell = 14;
const cells = size / cell;

/** Weights of red, green and blue, and a bias: without it the output's length would not depend on the scale. */
const filters = [
  { rgb: [0.7, 0.2, -0.4], bias: -40 },
  { rgb: [-0.5, 0.1, 0.9], bias: 25 },
] as const;
const dimensions = filters.length * cells * cells;

export function standIn(): Uint8Array {
  const { FLOAT } = onnx.TensorProto.DataType;
  const tensor = (name: string, dims: number[]) => ({
    name,
    type: { tensorType: { elemType: FLOAT, shape: { dim: dims.map((dimValue) => ({ dimValue })) } } },
  });
  const pixels = cell * cell;
  const weights = filters.flatMap(({ rgb }) => rgb.flatMap((w) => Array<number>(pixels).fill(w / pixels)));
  const biases = filters.map(({ bias }) => bias);
  const window = { kernel_shape: [cell, cell], strides: [cell, cell] };
  const model = onnx.ModelProto.create({
    irVersion: 7,
    opsetImport: [{ domain: '', version: 11 }],
    graph: {
      name: 'stand-in',
      node: [
        makeNode('Conv', ['data', 'weights', 'biases'], 'means', window),
        makeNode('Flatten', ['means'], 'fc1', { axis: 1 }),
      ],
      initializer: [
        makeFloats('weights', [filters.length, 3, cell, cell], Float32Array.from(weights)),
        makeFloats('biases', [filters.length], Float32Array.from(biases)),
      ],
      input: [tensor('data', [1, 3, size, size])],
      output: [tensor('fc1', [1, dimensions])],
    },
  });
  return onnx.ModelProto.encode(model).finish();
}

type Json = Record<string, unknown>;

/** A pack with this net as embedder, described like SFace; `change` makes its description wrong. */
export function standInPack(folder: string, change: Json = {}): string {
  const original = packDirectory('default');
  const manifest = JSON.parse(readFileSync(join(original, 'manifest.json'), 'utf8'));
  const {
    close_detector: _close,
    cohort: _cohort,
    human: _human,
    occlusion: _occlusion,
    calibration: _calibration,
    ...rest
  } = manifest;
  const directory = mkdtempSync(join(folder, 'pack-'));
  const bytes = standIn();
  const embedder = {
    file: 'sface.onnx',
    from: 'models/sface.onnx',
    source_sha256: sha256(bytes),
    sha256: sha256(bytes),
    licence: 'Apache-2.0',
    family: 'arcface',
    input: 'data',
    output: 'fc1',
    size,
    channels: 'rgb',
    mean: 0,
    scale: 1,
    dimensions,
    template: manifest.embedder.template,
    ...change,
  };
  const source = {
    kind: 'project',
    project: 'a project',
    commit: '1',
    licence: 'Apache-2.0',
    licence_note: 'for a test',
    get: 'It is made by the test.',
  };
  const from = { pack: 'default' };
  const taken = { detector: { ...rest.detector, from }, landmarks: { ...rest.landmarks, from } };
  const own = { ...rest, name: 'stand-in', source, ...taken, embedder };
  writeFileSync(join(directory, 'manifest.json'), JSON.stringify(own));
  for (const { file } of [rest.detector, rest.landmarks]) {
    copyFileSync(join(original, file), join(directory, file));
  }
  writeFileSync(join(directory, 'sface.onnx'), bytes);
  return directory;
}
