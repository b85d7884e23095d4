import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packDirectory, readCalibratedManifest } from 'facematch/for-lab';
import { expect, test } from 'vitest';
import { newFolder } from '../../test/support/folder.ts';
import { writeFits } from '../write-fit.ts';

test('states how many covered and other faces the occlusion score was fitted to', () => {
  const folder = newFolder();
  const manifest = readCalibratedManifest(packDirectory('default'));
  const example = (source: string, value: number) => {
    return { source, set: 'set', embedding: Float32Array.of(value, 1), isCounted: true };
  };
  writeFits(folder, manifest, [], {
    centres: [Float32Array.of(0, 1)],
    humans: [],
    others: [],
    covered: [example('a', 1), example('b', 0.9)],
    uncovered: [example('a', -1), example('b', -0.9), example('c', -0.8)],
  });
  const { occlusion } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
  expect(occlusion.fitted_on).toBe('2 faces with covered nose and mouth and 3 others, both modes');
});
