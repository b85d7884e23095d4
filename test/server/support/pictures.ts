import { readFileSync } from 'node:fs';
import sharp from 'sharp';
import { projectPath } from '../../../src/paths.ts';

function sample(name: string): Buffer {
  return readFileSync(projectPath(`node_modules/@vladmandic/face-api/demo/${name}.jpg`));
}

/** Group photos of three people each. One woman stands in the first and in the third; all others are different people. */
export const samples = {
  one: sample('sample1'),
  two: sample('sample2'),
  three: sample('sample3'),
} as const;

/** One colour, so without a face. */
export function blank(
  width: number,
  height: number,
  format: 'png' | 'jpeg' | 'webp' | 'gif' | 'tiff' | 'avif',
): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: '#87a' } })
    .toFormat(format)
    .toBuffer();
}
