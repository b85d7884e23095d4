// Face chips of a labelled set, as the nets in JavaScript cut them (bench/contenders/nets), rounded to bytes as the
// service's own chips are.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { picturesOf, readPairs } from '../../dist/src/eval/pairs.js';
import * as pixels from '../contenders/do-it-yourself/pixels.mjs';
import { detect } from '../contenders/nets/detector.mjs';
import { fivePoints } from '../contenders/nets/landmarks.mjs';
import { openNets } from '../contenders/nets/sessions.mjs';
import { fit } from '../contenders/nets/similarity.mjs';
import { cache } from '../lib/paths.mjs';
import { progress } from '../lib/report.mjs';

const size = 112;
const bytesOfChip = 3 * size * size;

/** The most central of the large faces, as `facematch eval` takes it. */
function central(faces, { width, height }) {
  const weight = (face) => {
    const dx = (face.x + face.width / 2) / width - 0.5;
    const dy = (face.y + face.height / 2) / height - 0.5;
    return face.width * face.height * Math.max(0, 1 - 2 * Math.hypot(dx, dy)) ** 2;
  };
  return faces.toSorted((a, b) => weight(b) - weight(a))[0];
}

async function chipOf(nets, template, file) {
  const picture = await pixels.decode(readFileSync(file));
  const face = central(await detect(nets.detector, pixels, picture), picture);
  if (face === undefined) return undefined;
  const points = await fivePoints(nets.landmarks, pixels, picture, face, 'fast');
  const planes = pixels.colourCrop(picture, fit(points, template), size, { mean: 0, scale: 1 });
  return Uint8Array.from(planes, Math.round);
}

/**
 * The set in `folder` (images/ and pairs.tsv): its pairs, and of each picture with a face its chip, 3×112×112 bytes,
 * blue, green and red plane. Cut once and kept in the bench's cache.
 */
export async function chipsOf(folder, embedder) {
  const pairs = readPairs(join(folder, 'pairs.tsv'));
  const names = picturesOf(pairs).sort();
  const key = createHash('sha256').update(names.join('\n')).digest('hex').slice(0, 12);
  const file = join(cache, 'chips', key);
  if (!existsSync(`${file}.json`)) {
    const nets = await openNets();
    const found = [];
    const chips = [];
    for (const [index, name] of names.entries()) {
      progress(`chips: ${index + 1} of ${names.length}`);
      const chip = await chipOf(nets, embedder.template, join(folder, 'images', name));
      if (chip === undefined) continue;
      found.push(name);
      chips.push(chip);
    }
    progress('');
    mkdirSync(join(cache, 'chips'), { recursive: true });
    writeFileSync(`${file}.u8`, Buffer.concat(chips));
    writeFileSync(`${file}.json`, JSON.stringify(found));
  }
  const all = readFileSync(`${file}.u8`);
  const found = JSON.parse(readFileSync(`${file}.json`, 'utf8'));
  const chips = found.map((name, index) => ({
    name,
    bytes: all.subarray(index * bytesOfChip, (index + 1) * bytesOfChip),
  }));
  return { pairs, chips };
}

/** What the embedder is fed with: 1×3×112×112 floats. */
export function inputOf({ bytes }, { mean, scale }) {
  return Float32Array.from(bytes, (byte) => (byte - mean) * scale);
}
