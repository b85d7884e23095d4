import { detectFace, loadHuman } from '../lib/human.mjs';
import { readImage } from './pixels.mjs';

const human = await loadHuman({ description: { enabled: true } });

export default async function ({ bytes }) {
  const face = await detectFace(human, await readImage(bytes));
  return face?.embedding ? { embedding: face.embedding } : {};
}
