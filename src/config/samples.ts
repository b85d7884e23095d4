import { existsSync } from 'node:fs';
import { productPath, projectPath } from './paths.ts';

/** Two photos of three people each, of face-api, a development dependency; the npm package includes them. One woman is in both. */
export const samples = [sample('sample1.jpg'), sample('sample3.jpg')] as const;

function sample(name: string): string {
  const own = projectPath(`node_modules/@vladmandic/face-api/demo/${name}`);
  return existsSync(own) ? own : productPath(`samples/${name}`);
}
