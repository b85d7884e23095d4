import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ByteBuffer } from 'flatbuffers';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import sharp from 'sharp';
import { beforeEach, describe, expect, test } from 'vitest';
import { onnxOf } from '../../../models/prepare/from-tflite.ts';
import {
  attributeOf,
  decodeModel,
  encodeModel,
  floatsOf,
  makeFloats,
} from '../../../models/prepare/graph.ts';
import { type Int8Plan, quantiseNet } from '../../../models/prepare/int8/index.ts';
import { preparePack } from '../../../models/prepare/prepare.ts';
import { rewriteNet } from '../../../models/prepare/rewrite.ts';
import {
  compareNets,
  fixedInputs,
  inputShape,
  meanOf,
  verifyRewrite,
} from '../../../models/prepare/verify.ts';
import { projectPath } from '../../../src/config/paths.ts';
import { packDirectory, readCalibratedManifest } from '../../../src/engine/manifest.ts';
import { sha256 } from '../../../src/engine/pack-files.ts';
import { sample } from '../../fixtures/images.ts';
import {
  closeDetector,
  closeOriginal,
  manifest,
  nets,
  originals,
  scratch,
  tarball,
} from './support/originals.ts';

/**
 * Tests nets that are rewritten, converted or quantised from published ones. prepare.test.ts tests preparePack(), which
 * checks that their bytes match the manifest, and that they return the original's numbers.
 */

const { detector } = manifest;

function operatorsOf(bytes: Uint8Array): string[] {
  return decodeModel(bytes).graph!.node!.map(({ opType }) => opType!);
}

test.skipIf(!tarball)('rejects a rewritten detector that decodes its boxes differently', async () => {
  const model = decodeModel(originals.get(detector.from)!);
  const { node, initializer } = model.graph!;
  const halves = node!.filter(({ opType }) => opType === 'Div').map(({ input }) => input![1]!);
  const hoisted = node!.flatMap((one) => attributeOf(one, 'value')?.t ?? []);
  for (const constant of [...initializer!, ...hoisted]) {
    if (halves.includes(constant.name!)) constant.rawData = new Uint8Array(Float32Array.of(3).buffer);
  }
  const other = encodeModel(model);
  await expect(verifyRewrite(detector, other, rewriteNet(other))).rejects.toThrow('differ from those of');
});

/** Returns the net with its first kernel scaled. */
function scaled(bytes: Uint8Array, factor: number): Uint8Array {
  const model = decodeModel(bytes);
  const constants = model.graph!.initializer!;
  const kernel = constants.findIndex(({ dims }) => dims!.length === 4);
  const { name, dims } = constants[kernel]!;
  const values = floatsOf(constants[kernel] as never).map((value) => value * factor);
  constants[kernel] = makeFloats(name!, dims!.map(Number), values);
  return encodeModel(model);
}

test.skipIf(!tarball).each(nets)('rejects a rewrite of $file with one kernel off by 2 %', async (net) => {
  const original = originals.get(net.from)!;
  await expect(verifyRewrite(net, original, scaled(original, 1.02))).rejects.toThrow(
    `The outputs of the rewritten ${net.file} differ from those of ${net.from}: cosine 0.`,
  );
});

describe.skipIf(!closeOriginal)('the net for close faces', () => {
  const original = closeOriginal!;

  // known-outputs.json was recorded with TensorFlow Lite (@tensorflow/tfjs-tflite 0.0.1-alpha.10) in Chromium. For
  // each fixed input, it has a row with every `every`-th number of an output.
  test('returns the outputs that its original runtime returns', async () => {
    const text = readFileSync(projectPath('test/slow/model/support/known-outputs.json'), 'utf8');
    const known: Record<string, { every: number; rows: number[][] }> = JSON.parse(text);
    const session = await InferenceSession.create(onnxOf(original));
    for (const [i, input] of fixedInputs(closeDetector).entries()) {
      const shape = inputShape(closeDetector);
      const outputs = await session.run({ [closeDetector.input]: new Tensor('float32', input, shape) });
      for (const [name, { every, rows }] of Object.entries(known)) {
        const actual = (outputs[name]!.data as Float32Array).filter((_, place) => place % every === 0);
        const errors = rows[i]!.map((value, place) => Math.abs(value - actual[place]!));
        expect(Math.max(...errors)).toBeLessThan(1e-3);
      }
    }
    await session.release();
  });

  test('is rejected with the number of an unknown operator', () => {
    const bytes = Uint8Array.from(original);
    const buffer = new ByteBuffer(bytes);
    // Changes the first operator code, whose number is field 0 of the table or, in newer files, field 3.
    const model = buffer.__indirect(0);
    const code = buffer.__indirect(buffer.__vector(model + buffer.__offset(model, 6)));
    buffer.writeInt8(code + buffer.__offset(code, 4), 99);
    expect(() => onnxOf(bytes)).toThrow('The model has the unsupported operator 99');
  });
});

const directory = packDirectory('int8');
const net = readCalibratedManifest(directory).embedder as typeof manifest.embedder;
const plan: Int8Plan = JSON.parse(readFileSync(join(directory, net.int8!.file), 'utf8'));
const original = originals.get(net.from)!;

/** Returns parts of six photos as the net's input: channels first, (byte − mean) × scale. */
const photoInputs = () =>
  Promise.all(
    [1, 2, 3, 4, 5, 6].map(async (number) => {
      const [, , height, width] = inputShape(net) as [number, number, number, number];
      const data = await sharp(sample(number))
        .resize(width * 2, height * 2, { fit: 'cover' })
        .extract({ left: width / 2, top: height / 4, width, height })
        .raw()
        .toBuffer();
      const pixels = width * height;
      return Float32Array.from({ length: 3 * pixels }, (_item, i) => {
        const channel = Math.floor(i / pixels);
        const place = net.channels === 'bgr' ? 2 - channel : channel;
        return (data[3 * (i % pixels) + place]! - meanOf(net, channel)) * net.scale;
      });
    }),
  );

describe.skipIf(!tarball)('the quantised embedder', () => {
  test('returns nearly the same embeddings as the float net on photos', async () => {
    const whole = quantiseNet(original, plan);
    const differences = await compareNets(net.input, inputShape(net), original, whole, await photoInputs());
    const cosines = differences.map(({ cosine }) => cosine);
    expect(Math.min(...cosines)).toBeGreaterThan(0.97);
    // The outputs must not be those of the float net itself.
    expect(Math.max(...cosines)).toBeLessThan(0.9999);
  });

  test('is quantised except for the operators that the plan keeps in floats', () => {
    const operators = operatorsOf(quantiseNet(original, plan));
    const countOf = (name: string) => operators.filter((operator) => operator === name).length;
    // A float convolution is followed by a PReLU, written as two nodes.
    expect(countOf('Conv')).toBeLessThanOrEqual(3 * plan.floats.length);
    expect(countOf('QLinearConv')).toBeGreaterThan(40);
    // The layout changes only where integers begin and end.
    expect(['BytePRelu', 'PRelu', 'Transpose'].map(countOf)).toEqual([30, 0, 2]);
  });

  test('is rejected if its ranges are a tenth of the correct ones', async () => {
    const ranges = Object.fromEntries(
      Object.entries(plan.ranges).map(([name, [low, high]]) => [name, [low / 10, high / 10]]),
    ) as Int8Plan['ranges'];
    const clamped = quantiseNet(original, { ...plan, ranges });
    await expect(verifyRewrite(net, original, clamped)).rejects.toThrow('differ from those of');
  });
});

describe.skipIf(!tarball)('preparing the pack', () => {
  let pack: string;
  beforeEach(async () => {
    pack = join(await mkdtemp(join(scratch, 'int8-')), 'pack');
    await mkdir(pack);
    for (const file of ['manifest.json', net.int8!.file]) await cp(join(directory, file), join(pack, file));
  });

  test('writes the nets next to the manifest', async () => {
    const lines: string[] = [];
    expect(await preparePack(pack, (line) => lines.push(line))).toBe('prepared');
    expect(lines.slice(2)).toEqual([
      'Copying detect.onnx from the pack default',
      'Copying detect-close.onnx from the pack default',
      'Copying landmark.onnx from the pack default',
      'Rewriting package/model/fr_feature.onnx to embed.onnx',
    ]);
    expect(sha256(await readFile(join(pack, net.file)))).toBe(net.sha256);
  });

  test('rejects a plan with another hash than in the manifest', async () => {
    await writeFile(join(pack, net.int8!.file), '{}');
    await expect(preparePack(pack, () => {})).rejects.toThrow(
      /embed\.int8\.json does not match the manifest.*from the repository/,
    );
  });
});
