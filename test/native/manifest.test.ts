import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadAddon } from '../../src/engine/load-addon.ts';
import { packDirectory, readDraft } from '../../src/engine/manifest.ts';
import { detectors, withDetector } from '../fixtures/detectors.ts';
import { analyseOptions, gradient } from '../fixtures/pictures.ts';
import { newFolder } from '../support/folder.ts';

/** The manifest's two readers, the schema and the core, take and refuse the same numbers and words. */

const addon = loadAddon();
const picture = await gradient(200, 150).jpeg().toBuffer();

/** Of which there is no file: what loads them is another matter. */
const liveness = {
  family: 'minifasnet',
  nets: [2.7, 4].map((scale) => ({
    ...{ file: 'live.onnx', sha256: 'a'.repeat(64), licence: 'MIT' },
    ...{ input: 'input', output: 'logits', size: 80, scale },
  })),
};

/** A pack, or the default one with a detector of another family, with a JSON text put in the place of a member; its nets are the original ones. */
function packWith(path: string, text: string, from: string): string {
  const family = from in detectors ? (from as keyof typeof detectors) : undefined;
  const original = packDirectory(family ? 'default' : from);
  const directory = newFolder();
  const whole = JSON.parse(readFileSync(join(original, 'manifest.json'), 'utf8'));
  const manifest = family ? withDetector(whole, family) : whole;
  if (path.startsWith('liveness.')) manifest.liveness = structuredClone(liveness);
  for (const file of [
    'detect.onnx',
    'detect-close.onnx',
    'landmark.onnx',
    'embed.onnx',
    'cohort.i8',
    'human.i8',
    'occlusion.i8',
  ])
    symlinkSync(join(original, file), join(directory, file));
  const members = path.split('.');
  const last = members.pop()!;
  members.reduce((object, member) => object[member], manifest)[last] = 'PUT HERE';
  // As text, because JSON.stringify would write 320.0 as 320.
  writeFileSync(
    join(directory, 'manifest.json'),
    JSON.stringify(manifest).replace('"PUT HERE"', () => text),
  );
  return directory;
}

function ofSchema(directory: string): boolean {
  try {
    readDraft(directory);
    return true;
  } catch {
    return false;
  }
}

/** Whether the core takes the manifest; that a net does not fit it is another matter. */
function ofCore(directory: string): boolean {
  const result = addon.analyse(directory, picture, analyseOptions);
  if (result.ok) return true;
  expect(result.code).toBe('internal_error');
  return !JSON.stringify(result).includes('manifest.json: ');
}

const template = (...points: [number, number][]) => JSON.stringify(points);

const cases: [path: string, taken: string[], refused: string[], pack?: string][] = [
  ['detector.channels', ['"bgr"'], ['"grey"', '"gbr"', '0', 'null']],
  ['landmarks.channels', ['"grey"'], ['"rgb"', '"bgr"']],
  ['embedder.channels', ['"rgb"'], ['"grey"', '["rgb"]']],
  [
    'detector.file',
    ['"landmark.onnx"', '"-_.onnx"'],
    ['"../detect.onnx"', '"/detect.onnx"', '".onnx"', '"détect.onnx"', '"a.onnx\\u0000"', '"a.onnx\\n"'],
  ],
  ['cohort.file', ['"human.i8"'], ['"../cohort.i8"', '"cohort.onnx"', '"/dev/zero"', '""']],
  ['detector.input', ['"a word"'], ['""', '1']],
  ['detector.scores', ['"a word"'], ['"offsets"', '""', '["scores"]']],
  ['detector.cls', ['["a", "b", "c"]'], ['["a", "b", "a"]', '["a", "b"]', '["a", "b", ""]'], 'yunet'],
  ['detector.obj', ['["a", "b", "c"]'], ['["cls_8", "b", "c"]'], 'yunet'],
  [
    'detector.width',
    ['1', '2048', '320.0', '3.2e2'],
    ['0', '2049', '2.5', 'true', '-320', '4294967616', '1e300', '1e309', '1e-300'],
  ],
  ['landmarks.size', ['64.0', '512'], ['513', '0', '18446744073709551615']],
  ['embedder.size', ['112', '512'], ['513', '92']],
  ['embedder.dimensions', ['1', '4096'], ['0', '4097', '1.5', 'null']],
  ['detector.mean', ['-1000', '0', '1000'], ['1000.1', '1e300', '-1e300', 'true', '"0"']],
  ['embedder.mean', ['[1, 2.5, -1000]'], ['[1, 2]', '[]', '[1, 2, 3, 4]', '[1, 2, null]', '[1, 2, 1001]']],
  ['landmarks.mean', ['1'], ['[1, 2, 3]', '[1]']],
  [
    'detector.strides',
    ['[8, 16, 32]', '[1, 2.0, 4]', '[32, 64, 128]'],
    ['[8, 8, 16]', '[8, 12, 24]', '[16, 8, 32]', '[8, 16]', '[]', '8', '[0, 8, 16]', '[64, 128, 256]'],
    'scrfd',
  ],
  ['detector.anchors', ['1', '16'], ['0', '17', '2.5', '[2]', 'null'], 'scrfd'],
  [
    'detector.scores',
    ['["a", "b", "c"]'],
    ['["a", "b"]', '["a", "b", "446"]', '["a", "b", ""]', '"a"'],
    'scrfd',
  ],
  ['detector.boxes', ['["a", "b", "c"]'], ['["a", "b", "b"]', 'null', '{}'], 'scrfd'],
  [
    'detector.priors',
    ['[[1], [2048], [16.5, 8]]'],
    ['[[16], [32]]', '[16, 32, 64]', '[[16], [], [32]]', '[[0.5], [1], [2]]', '[[1], [2], [2049]]', '[]'],
    'retinaface',
  ],
  ['detector.variances', ['[1e-9, 1000]'], ['[0.1]', '[0.1, 0]', '[0.1, 0.2, 0.3]', '0.1'], 'retinaface'],
  ['detector.boxes', ['"a word"'], ['"conf"', '""', '["loc"]', 'null'], 'retinaface'],
  ['close_detector.family', ['"blazeface"'], ['"haar"', '"scrfd"', '"yunet"']],
  ['embedder.scale', ['1e-9', '1000'], ['0', '-1', '9e-10', '1e-300', '1001']],
  ['landmarks.crop', ['0.1', '10'], ['0', '0.09', '10.5', '1e39']],
  ['landmarks.upright_degrees', ['0', '180'], ['-1', '181']],
  ['detector.nms_iou', ['0', '1'], ['-0.1', '1.1']],
  ['detector.second_look_score', ['0', '1'], ['-0.1', '1.1']],
  ['cohort.centres', ['1', '16384'], ['0', '16385', '1.5']],
  ['cohort.highest', ['1', '16384'], ['0', '16385']],
  ['cohort.weight', ['0', '1000'], ['-1', '1e39']],
  ['human.scale', ['1'], ['0', '1e-300', '1e300']],
  ['human.bias', ['-1000'], ['-1001', 'false']],
  ['human.bar', ['1000'], ['1e300']],
  ['occlusion.scale', ['1'], ['0', '1e-300', '1e300']],
  ['occlusion.bias', ['-1000'], ['-1001', 'false']],
  ['liveness.family', ['"minifasnet"'], ['"yolo"', 'null', '0']],
  ['liveness.nets', [], ['[]', '{}', '[null]', '"live.onnx"']],
  ['liveness.nets.0.scale', ['1.0001', '4', '1000'], ['1', '0', '-2', '1000.5', 'true', '1e300']],
  ['liveness.nets.1.size', ['1', '512'], ['0', '513', '80.5', 'null']],
  ['liveness.nets.1.file', ['"a.onnx"'], ['"../a.onnx"', '"/a.onnx"', '"a.i8"', '""']],
  ['liveness.nets.1.input', ['"a word"'], ['""', '1', 'null']],
  ['liveness.nets.0.output', ['"a word"'], ['""', '1', 'null']],
  [
    'embedder.template',
    [template([0, 0], [112, 0], [5, 5], [0, 112], [112, 112])],
    [
      template([0, 0], [113, 0], [5, 5], [0, 112], [112, 112]),
      template([-1, 0], [112, 0], [5, 5], [0, 112], [112, 112]),
      template([9, 9], [9, 9], [9, 9], [9, 9], [9, 9]),
      template([9, 9], [19, 9], [9, 9], [9, 9], [9, 9]),
      template([19, 9], [9, 9], [9, 9], [9, 19], [9, 19]),
      template([0, 0], [112, 0], [5, 5], [0, 112]),
      '[]',
      '"five points"',
      'null',
    ],
  ],
];

describe.each(cases)('the member %s of a manifest', (path, taken, refused, from = 'default') => {
  test.each(taken)('may be %s, for the schema and for the core', (text) => {
    const directory = packWith(path, text, from);
    expect({ schema: ofSchema(directory), core: ofCore(directory) }).toEqual({ schema: true, core: true });
  });

  test.each(refused)('may not be %s, for neither', (text) => {
    const directory = packWith(path, text, from);
    expect({ schema: ofSchema(directory), core: ofCore(directory) }).toEqual({ schema: false, core: false });
  });
});
