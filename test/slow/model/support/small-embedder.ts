import { copyFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import onnxProto from 'onnx-proto';
import { makeNode } from '../../../../models/prepare/graph.ts';
import { packDirectory } from '../../../../src/engine/manifest.ts';
import { sha256 } from '../../../../src/engine/pack-files.ts';
import { encodeNet, FLOAT, FLOAT16 } from '../../../fixtures/nets.ts';

const { onnx } = onnxProto;

/**
 * A small net with the inputs and outputs of OpenCV's SFace: `data` 1×3×112×112 in, RGB of 0–255; `fc1` 1×128 out. Filters over 8×8
 * cells of 14×14 pixels, as small as can be.
 */
const size = 112;
const cell = 14;
const cells = size / cell;

/** Weights of red, green and blue, and a bias: without it the output's length would not depend on the scale. */
const filters = [
  { rgb: [0.7, 0.2, -0.4], bias: -40 },
  { rgb: [-0.5, 0.1, 0.9], bias: 25 },
] as const;

/** What another net of the same face is fed and answers: its embeddings point where those of the small net do. */
export interface Kind {
  channels?: 'rgb' | 'bgr';
  /** What is taken from each plane, in their order. */
  mean?: [number, number, number];
  scale?: number;
  batch?: 1 | 'open';
  /** Answers with unit vectors. */
  normalised?: boolean;
  /** A multiple of 128. */
  dimensions?: number;
  /** Its weights are half-precision floats, or all of it is. */
  halves?: 'weights' | 'all';
}

export function smallEmbedder(kind: Kind = {}): Uint8Array {
  const { channels = 'rgb', mean = [0, 0, 0], scale = 1, batch = 1, dimensions = 128, halves } = kind;
  const pixels = cell * cell;
  const planesOf = (rgb: readonly number[]) => (channels === 'rgb' ? rgb : rgb.toReversed());
  const all = Array.from({ length: dimensions / (cells * cells) }, (_item, i) => {
    const { rgb, bias } = filters[i % filters.length]!;
    return { planes: planesOf(rgb), bias: bias + i };
  });
  const weights = all.flatMap(({ planes }) =>
    planes.flatMap((w) => Array<number>(pixels).fill(w / pixels / scale)),
  );
  const biases = all.map(({ planes, bias }) => planes.reduce((sum, w, i) => sum + w * mean[i]!, bias));
  const window = { kernel_shape: [cell, cell], strides: [cell, cell] };
  const widened = halves === 'weights' ? ['weights', 'biases'] : [];
  const nameOf = (name: string) => (widened.includes(name) ? `${name} as floats` : name);
  const { normalised = false } = kind;
  const open = batch === 'open' ? 'N' : batch;
  const constants: Parameters<typeof encodeNet>[0]['constants'] = {
    weights: [[all.length, 3, cell, cell], weights],
    biases: [[all.length], biases],
  };
  return encodeNet({
    nodes: [
      ...widened.map((name) => makeNode('Cast', [name], nameOf(name), { to: FLOAT })),
      makeNode('Conv', ['data', nameOf('weights'), nameOf('biases')], 'means', window),
      makeNode('Flatten', ['means'], normalised ? 'long' : 'fc1', { axis: 1 }),
      ...(normalised ? [makeNode('LpNormalization', ['long'], 'fc1', { axis: 1, p: 2 })] : []),
    ],
    constants: halves ? {} : constants,
    tensors: halves
      ? Object.entries(constants).map(([name, [dims, values]]) => makeHalves(name, dims, values))
      : [],
    inputs: { data: [open, 3, size, size] },
    outputs: { fc1: [open, dimensions] },
    type: halves === 'all' ? FLOAT16 : FLOAT,
  });
}

function makeHalves(name: string, dims: number[], values: Iterable<number>) {
  const rawData = new Uint8Array(Uint16Array.from([...values], halfOf).buffer);
  return onnx.TensorProto.create({ name, dims, dataType: FLOAT16, rawData });
}

/** The bits of a half-precision float that is neither tiny nor huge: five of exponent and ten of fraction. */
function halfOf(value: number): number {
  const exponent = Math.floor(Math.log2(Math.abs(value)));
  const fraction = Math.round((Math.abs(value) / 2 ** exponent - 1) * 1024);
  return (value < 0 ? 0x8000 : 0) + (exponent + 15) * 1024 + fraction;
}

type Json = Record<string, unknown>;

/** A pack with this net as embedder, described like SFace; `change` makes its description wrong. */
export function smallEmbedderPack(folder: string, change: Json = {}, bytes = smallEmbedder()): string {
  const original = packDirectory('default');
  const manifest = JSON.parse(readFileSync(join(original, 'manifest.json'), 'utf8'));
  const { detector, landmarks, version, description, min_det_score, embedder: own } = manifest;
  const directory = mkdtempSync(join(folder, 'pack-'));
  const hash = sha256(bytes);
  const embedder = {
    ...{
      file: 'sface.onnx',
      from: 'models/sface.onnx',
      source_sha256: hash,
      sha256: hash,
      licence: 'Apache-2.0',
    },
    ...{ family: 'arcface', input: 'data', output: 'fc1', size, channels: 'rgb', mean: 0, scale: 1 },
    ...{ dimensions: 128, template: own.template, ...change },
  };
  const source = {
    ...{ kind: 'project', project: 'a project', commit: '1', licence: 'Apache-2.0' },
    ...{ licence_note: 'for a test', get: 'It is made by the test.' },
  };
  const from = { pack: 'default' };
  const taken = { detector: { ...detector, from }, landmarks: { ...landmarks, from } };
  const written = { name: 'small-embedder', version, description, source, ...taken, embedder, min_det_score };
  writeFileSync(join(directory, 'manifest.json'), JSON.stringify(written));
  for (const { file } of [detector, landmarks]) {
    copyFileSync(join(original, file), join(directory, file));
  }
  writeFileSync(join(directory, 'sface.onnx'), bytes);
  return directory;
}
