import { describe, expect, test } from 'vitest';
import { loadPack } from '../../src/engine/load-addon.ts';
import { readDraft } from '../../src/engine/manifest.ts';
import { analyseOptions, smallSample } from '../fixtures/pictures.ts';
import { newFolder } from '../support/folder.ts';
import { standInPack } from './support/standin.ts';

/** SFace is not available everywhere: a small net with the same inputs and outputs replaces it. */

const folder = newFolder();
const photo = await smallSample(1, 960);

describe('a net with the inputs and outputs of SFace', () => {
  test('needs no cohort: similarities are cosines then', () => {
    const pack = standInPack(folder);
    const result = loadPack(pack, readDraft(pack)).analyse(pack, photo, analyseOptions);
    if (!result.ok) throw new Error(JSON.stringify(result));
    expect(result.image.faces.map(({ cohort_score }) => cohort_score)).toEqual([0, 0, 0]);
  });

  test.each([
    ['other dimensions', { dimensions: 512 }, /"fc1" has 128 numbers, but the manifest says 512 dimensions/],
    ['an output that it does not have', { output: 'embedding' }, /no output "embedding"; there are "fc1"/],
    ['an input that it does not have', { input: 'input' }, /no input "input"; there are "data"/],
    ['another size of chip', { size: 96 }, /sface\.onnx cannot be used.*112/s],
    ['a file that is not there', { file: 'missing.onnx' }, /missing\.onnx cannot be used/],
  ])('described with %s is refused at load by what is wrong', (_, change, message) => {
    const directory = standInPack(folder, change);
    expect(() => loadPack(directory, readDraft(directory))).toThrow(message);
  });
});
