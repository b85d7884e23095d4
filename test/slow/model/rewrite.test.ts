import { ByteBuffer } from 'flatbuffers';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';
import { offsetsOutput, priorsFor } from '../../../models/prepare/boxes.ts';
import { onnxOf } from '../../../models/prepare/from-tflite.ts';
import {
  attributeOf,
  decodeModel,
  encodeModel,
  floatsOf,
  makeFloats,
} from '../../../models/prepare/graph.ts';
import { rewriteNet } from '../../../models/prepare/rewrite.ts';
import { isTflite, readTflite } from '../../../models/prepare/tflite.ts';
import { verifyConversion, verifyRewrite } from '../../../models/prepare/verify.ts';
import { sha256 } from '../../../src/engine/pack-files.ts';
import { closeDetector, closeOriginal, manifest, nets, originals, tarball } from './support/originals.ts';

const { detector } = manifest;

function operatorsOf(bytes: Uint8Array): string[] {
  return decodeModel(bytes).graph!.node!.map(({ opType }) => opType!);
}

// preparePack compares their numbers with the original's.
test.skipIf(!tarball).each(nets)(
  '$file comes out as the same bytes each time, the ones that the manifest pins',
  (net) => {
    const original = originals.get(net.from)!;
    for (let time = 0; time < 2; time++) expect(sha256(rewriteNet(original))).toBe(net.sha256);
  },
);

describe.skipIf(!tarball)('a detector that decodes its boxes in another way', () => {
  type Constants = NonNullable<NonNullable<ReturnType<typeof decodeModel>['graph']>['initializer']>;

  const bytesOf = (value: number) => new Uint8Array(Float32Array.of(value).buffer);
  test.each<[string, (constants: Constants, halves: Set<string>) => void]>([
    [
      'by thirds of their sides',
      (constants, halves) => {
        for (const constant of constants) if (halves.has(constant.name!)) constant.rawData = bytesOf(3);
      },
    ],
    [
      'from other priors',
      (constants) => {
        for (const constant of constants) {
          if (constant.dims!.length !== 3 || Number(constant.dims![2]) !== 2) continue;
          // The decoded net is a view of the file, which other tests use.
          constant.rawData = Uint8Array.from(constant.rawData!);
          constant.rawData.set(bytesOf(0.5));
        }
      },
    ],
  ])('%s is left to it, and to its size', async (_what, change) => {
    const model = decodeModel(originals.get(detector.from)!);
    const { node, initializer } = model.graph!;
    const divided = node!.filter(({ opType }) => opType === 'Div').map(({ input }) => input![1]!);
    const hoisted = node!.flatMap((one) => attributeOf(one, 'value')?.t ?? []);
    change([...initializer!, ...hoisted], new Set(divided));
    const other = encodeModel(model);
    const rewritten = rewriteNet(other);
    expect(operatorsOf(rewritten)).toContain('Slice');
    expect(decodeModel(rewritten).graph!.output!.map(({ name }) => name)).toEqual(['scores', 'boxes']);
    await expect(verifyRewrite(detector, other, rewritten)).resolves.toBeUndefined();
  });
});

test.skipIf(!tarball)(
  'the rewritten detector runs at any size, with two and four numbers a prior',
  async () => {
    const session = await InferenceSession.create(rewriteNet(originals.get(detector.from)!));
    for (const [width, height] of [
      [320, 240],
      [240, 240],
      [184, 240],
      [320, 64],
      [333, 77],
    ] as const) {
      const input = new Tensor('float32', new Float32Array(3 * height * width), [1, 3, height, width]);
      const outputs = await session.run({ [detector.input]: input });
      const priors = priorsFor(width, height).sizes.length / 2;
      expect(outputs.scores!.dims).toEqual([1, priors, 2]);
      expect(outputs[offsetsOutput]!.dims).toEqual([1, priors, 4]);
    }
    await session.release();
  },
);

/** A net with its first kernel scaled. */
function scaled(bytes: Uint8Array, factor: number): Uint8Array {
  const model = decodeModel(bytes);
  const constants = model.graph!.initializer!;
  const kernel = constants.findIndex(({ dims }) => dims!.length === 4);
  const { name, dims } = constants[kernel]!;
  const values = floatsOf(constants[kernel] as never).map((value) => value * factor);
  constants[kernel] = makeFloats(name!, dims!.map(Number), values);
  return encodeModel(model);
}

test.skipIf(!tarball).each(nets)(
  'checking a rewrite refuses $file with one kernel off by two percent',
  async (net) => {
    const original = originals.get(net.from)!;
    await expect(verifyRewrite(net, original, scaled(original, 1.02))).rejects.toThrow(
      `The rewritten ${net.file} does not give the numbers of ${net.from}: cosine 0.`,
    );
  },
);

test('what is empty or a text is no net of TensorFlow Lite', () => {
  for (const bytes of ['', '{"format": "TFL3"}'].map((text) => Buffer.from(text))) {
    expect(isTflite(bytes)).toBe(false);
    expect(() => readTflite(bytes)).toThrow('The file is no net of TensorFlow Lite');
  }
});

describe.skipIf(!closeOriginal)('the net for close faces', () => {
  const original = closeOriginal!;

  // preparePack compares them with what TensorFlow Lite answers.
  test('comes out as the same bytes each time, the ones that the manifest pins', () => {
    expect(sha256(onnxOf(original))).toBe(closeDetector.sha256);
    expect(sha256(onnxOf(original))).toBe(closeDetector.sha256);
  });

  test('with one kernel off by two percent is refused', async () => {
    await expect(verifyConversion(closeDetector, scaled(onnxOf(original), 1.02))).rejects.toThrow(
      `The converted ${closeDetector.file} does not give the numbers of ${closeDetector.from}: cosine 0.`,
    );
  });

  test('whose right numbers nobody knows is refused', async () => {
    const other = { ...closeDetector, source_sha256: '0'.repeat(64) };
    await expect(verifyConversion(other, onnxOf(original))).rejects.toThrow('known-outputs.json lacks it');
  });

  test('with an operator that is not known here is refused by its number', () => {
    const bytes = Uint8Array.from(original);
    const buffer = new ByteBuffer(bytes);
    // The first of the model's operator codes; its number is field 0 or, in newer files, field 3 of the table.
    const model = buffer.__indirect(0);
    const code = buffer.__indirect(buffer.__vector(model + buffer.__offset(model, 6)));
    buffer.writeInt8(code + buffer.__offset(code, 4), 99);
    expect(() => onnxOf(bytes)).toThrow('The net has an operator that is not known here: number 99');
  });
});
