import { ByteBuffer } from 'flatbuffers';
import { describe, expect, test } from 'vitest';
import { onnxOf } from '../../models/prepare/from-tflite.ts';
import { decodeModel, encodeModel, floatsOf, makeFloats } from '../../models/prepare/graph.ts';
import { isTflite, readTflite } from '../../models/prepare/tflite.ts';
import { verifyConversion } from '../../models/prepare/verify.ts';
import { sha256 } from '../../src/engine/manifest.ts';
import { closeOriginal, closeDetector as net } from './support/originals.ts';

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

  // preparePack compares them with what TensorFlow Lite answers.
  test('comes out as the same bytes each time, the ones that the manifest pins', () => {
    expect(sha256(onnxOf(original))).toBe(net.sha256);
    expect(sha256(onnxOf(original))).toBe(net.sha256);
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
