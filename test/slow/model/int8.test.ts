import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { beforeEach, describe, expect, test } from 'vitest';
import { decodeModel } from '../../../models/prepare/graph.ts';
import { type Int8Plan, quantiseNet, readPlan } from '../../../models/prepare/int8/index.ts';
import { preparePack } from '../../../models/prepare/prepare.ts';
import { compareNets, inputShape, meanOf, verifyRewrite } from '../../../models/prepare/verify.ts';
import {
  type CalibratedManifest,
  packDirectory,
  readCalibratedManifest,
} from '../../../src/engine/manifest.ts';
import { sha256 } from '../../../src/engine/pack-files.ts';
import { sample } from '../../fixtures/images.ts';
import { without } from '../../support/without.mjs';
import { type OwnNet, originals, scratch, tarball } from './support/originals.ts';

/** Parts of the photos of @vladmandic/face-api as input of a net: channels first, (byte − mean) × scale. */
async function photoInputs(net: OwnNet): Promise<Float32Array[]> {
  const [, channels, height, width] = inputShape(net) as [number, number, number, number];
  const pixels = width * height;
  return Promise.all(
    [1, 2, 3, 4, 5, 6].map(async (number) => {
      const part = sharp(sample(number))
        .resize(width * 2, height * 2, { fit: 'cover' })
        .extract({ left: width / 2, top: height / 4, width, height });
      const data = await (channels === 1 ? part.greyscale() : part).raw().toBuffer();
      return Float32Array.from({ length: pixels * channels }, (_item, i) => {
        const channel = Math.floor(i / pixels);
        const pixel = i % pixels;
        const place = net.channels === 'bgr' ? 2 - channel : channel;
        return (data[pixel * channels + place]! - meanOf(net, channel)) * net.scale;
      });
    }),
  );
}

const directory = packDirectory('int8');
const net = readCalibratedManifest(directory).embedder as OwnNet<CalibratedManifest['embedder']>;
const planFile = join(directory, net.int8!.file);
const plan = readPlan(readFileSync(planFile), planFile);
const original = originals.get(net.from)!;

function operatorsOf(bytes: Uint8Array): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { opType } of decodeModel(bytes).graph!.node!)
    counts.set(opType!, (counts.get(opType!) ?? 0) + 1);
  return counts;
}

describe.skipIf(!tarball)('the embedder in whole numbers', () => {
  test('gives the same bytes each time, those of the manifest', () => {
    expect(sha256(quantiseNet(original, plan))).toBe(net.sha256);
    expect(sha256(quantiseNet(original, plan))).toBe(net.sha256);
  });

  test('gives nearly the embeddings of the float net on photos', async () => {
    const inputs = await photoInputs(net);
    const whole = quantiseNet(original, plan);
    const differences = await compareNets(net.input, inputShape(net), original, whole, inputs);
    const cosines = differences.map(({ cosine }) => cosine);
    expect(Math.min(...cosines)).toBeGreaterThan(0.97);
    // They are not the outputs of the float net itself.
    expect(Math.max(...cosines)).toBeLessThan(0.9999);
  });

  test('is quantised except for what the plan leaves in floats', () => {
    const counts = operatorsOf(quantiseNet(original, plan));
    // A convolution in floats is followed by a PReLU, written as two nodes.
    expect(counts.get('Conv')).toBeLessThanOrEqual(3 * plan.floats.length);
    expect(counts.get('QLinearConv')).toBeGreaterThan(40);
    expect(counts.get('BytePRelu')).toBe(30);
    expect(counts.get('PRelu')).toBeUndefined();
    // The layout changes where whole numbers begin and end, and nowhere else.
    expect(counts.get('Transpose')).toBe(2);
  });

  test('cannot be made from a plan without a range', () => {
    const ranges = without(plan.ranges, net.input);
    const [lost] = Object.keys(ranges);
    delete ranges[lost!];
    expect(() => quantiseNet(original, { ...plan, ranges })).toThrow(
      `The plan has no range of tensor ${lost}`,
    );
  });

  test('is rejected when ranges are a tenth of the right ones', async () => {
    const ranges = Object.fromEntries(
      Object.entries(plan.ranges).map(([name, [low, high]]) => [name, [low / 10, high / 10]]),
    ) as Int8Plan['ranges'];
    const clamped = quantiseNet(original, { ...plan, ranges });
    await expect(verifyRewrite(net, original, clamped)).rejects.toThrow('does not give the numbers of');
  });
});

describe.skipIf(!tarball)('preparing the pack', () => {
  let pack: string;
  beforeEach(async () => {
    pack = join(await mkdtemp(join(scratch, 'int8-')), 'pack');
    await mkdir(pack);
    for (const file of ['manifest.json', net.int8!.file]) await cp(join(directory, file), join(pack, file));
  });

  test('leaves the nets beside the manifest', async () => {
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

  test('refuses a plan that is not the manifest’s', async () => {
    await writeFile(join(pack, net.int8!.file), '{}');
    await expect(preparePack(pack, () => {})).rejects.toThrow(
      /embed\.int8\.json is not the one that the manifest describes.*from the repository/,
    );
  });
});
