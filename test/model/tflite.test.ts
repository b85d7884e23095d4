import { ByteBuffer } from 'flatbuffers';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';
import { onnxOf } from '../../models/prepare/from-tflite.ts';
import { decodeModel, encodeModel, floatsOf, makeFloats } from '../../models/prepare/graph.ts';
import { isTflite, readTflite } from '../../models/prepare/tflite.ts';
import { inputShape, verifyConversion } from '../../models/prepare/verify.ts';
import { sha256 } from '../../src/engine/manifest.ts';
import { photoInputs } from './support/inputs.ts';
import { closeOriginal, closeDetector as net } from './support/originals.ts';

/**
 * The best box of parts of the six photos: which of the 896 it is, its logit, and its sixteen numbers in pixels, as TensorFlow Lite
 * answers in Chromium (@tensorflow/tfjs-tflite 0.0.1-alpha.10, its raw outputs).
 */
const best = [
  {
    place: 335,
    logit: 2.836,
    box: [
      0.5, -3.86, 36.64, 36.64, -12.78, -5.66, 2.18, -14.04, -3.31, 0.3, 2.31, 5.99, -13.94, -1.33, 17.3,
      -19.11,
    ],
  },
  {
    place: 145,
    logit: 2.333,
    box: [
      0.49, 1.75, 36.05, 36.05, -4.55, -4.58, 10.67, -2.64, 4.22, 7.69, 2.73, 12.76, -16.19, -6.82, 15.63,
      -3.1,
    ],
  },
  {
    place: 644,
    logit: 3.032,
    box: [
      0.62, -0.88, 45.66, 45.65, -10.95, -11.94, 8.73, -7.43, -5.53, 2.75, -6.48, 10.86, -19.33, -12.23,
      21.67, -3.44,
    ],
  },
  {
    place: 117,
    logit: 2.358,
    box: [
      1.15, -3.46, 35.51, 35.51, -11.06, -9.9, 1.91, -8.95, -9.42, 1.19, -7.95, 6.57, -11.45, -11.14, 17.94,
      -8.85,
    ],
  },
  {
    place: 43,
    logit: 2.233,
    box: [
      1.66, 0.62, 31.89, 31.89, -0.88, -8.46, 11.52, -5.25, 6.25, 0.26, 3.8, 7.04, -12.56, -6.97, 14.48,
      -0.79,
    ],
  },
  {
    place: 201,
    logit: 2.778,
    box: [
      -2.95, -0.35, 42.19, 42.19, -13.34, -6.94, 1.31, -8.38, -8.38, 5.03, -6.97, 11.22, -17.18, -6.26, 14.27,
      -8.59,
    ],
  },
];

describe('a file', () => {
  test.each([
    ['empty', new Uint8Array()],
    ['a text', Buffer.from('{"format": "TFL3"}')],
  ])('that is %s is no net of TensorFlow Lite', (_, bytes) => {
    expect(isTflite(bytes)).toBe(false);
    expect(() => readTflite(bytes)).toThrow('The file is no net of TensorFlow Lite');
  });
});

describe.skipIf(!closeOriginal)('the net for close faces', () => {
  const original = closeOriginal!;

  test('is read as published: operators, input, outputs', () => {
    const { operators, inputs, outputs } = readTflite(original);
    const counts: Record<string, number> = {};
    for (const { kind } of operators) counts[kind] = (counts[kind] ?? 0) + 1;
    expect(counts).toEqual({
      ADD: 16,
      CONCATENATION: 2,
      CONV_2D: 21,
      DEPTHWISE_CONV_2D: 16,
      DEQUANTIZE: 74,
      MAX_POOL_2D: 3,
      PAD: 11,
      RELU: 17,
      RESHAPE: 4,
    });
    expect([...inputs, ...outputs].map(({ name, shape }) => [name, shape])).toEqual([
      ['input', [1, 128, 128, 3]],
      ['regressors', [1, 896, 16]],
      ['classificators', [1, 896, 1]],
    ]);
  });

  test('comes out as the same bytes each time, the ones that the manifest pins', () => {
    expect(sha256(onnxOf(original))).toBe(net.sha256);
    expect(sha256(onnxOf(original))).toBe(net.sha256);
  });

  test('is turned only in front of the four reshapes', () => {
    const kinds = decodeModel(onnxOf(original)).graph!.node!.map(({ opType }) => opType);
    expect(kinds.filter((kind) => kind === 'Transpose')).toHaveLength(4);
    expect(kinds).not.toContain('DequantizeLinear');
  });

  test('gives the numbers of TensorFlow Lite on fixed inputs', async () => {
    await expect(verifyConversion(net, onnxOf(original))).resolves.toBeUndefined();
  });

  test('finds the faces in photos that TensorFlow Lite finds', async () => {
    const session = await InferenceSession.create(onnxOf(original));
    for (const [i, input] of (await photoInputs(net)).entries()) {
      const outputs = await session.run({ [net.input]: new Tensor('float32', input, inputShape(net)) });
      const [scores, boxes] = [net.scores, net.boxes].map((name) => outputs[name]!.data as Float32Array);
      const { place, logit, box } = best[i]!;
      expect(scores!.indexOf(Math.max(...scores!))).toBe(place);
      // The photos' decoder may round a byte differently on another processor.
      expect(Math.abs(scores![place]! - logit)).toBeLessThan(0.05);
      for (const [j, value] of box.entries()) {
        expect(Math.abs(boxes![16 * place + j]! - value)).toBeLessThan(0.1);
      }
    }
    await session.release();
  });

  test('with one kernel off by two percent is refused', async () => {
    const model = decodeModel(onnxOf(original));
    const constants = model.graph!.initializer!;
    const kernel = constants.findIndex(({ dims }) => dims!.length === 4);
    const { name, dims } = constants[kernel]!;
    const scaled = floatsOf(constants[kernel] as never).map((value) => value * 1.02);
    constants[kernel] = makeFloats(name!, dims!.map(Number), scaled);
    await expect(verifyConversion(net, encodeModel(model))).rejects.toThrow(
      `The converted ${net.file} does not give the numbers of ${net.from}: cosine 0.`,
    );
  });

  test('whose right numbers nobody knows is refused', async () => {
    const other = { ...net, source_sha256: '0'.repeat(64) };
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
