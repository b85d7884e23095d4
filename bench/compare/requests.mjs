// Defines the scenarios and their images. Images are created once and cached, so that every contender gets the same
// bytes. They come from the labelled photos in ../shared if these exist, and otherwise from face-api's demo photos.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { hashOf } from '../../scripts/lib/run.mjs';
import { form } from '../../test/support/load.mjs';
import { cutOuts } from '../../test/support/portraits.mjs';
import { Random } from '../../test/support/random.mjs';
import { cache, sharedData } from '../lib/setup.mjs';

/** Returns alternating mated and non-mated pairs: { same, images: [first, second] }. */
const alternate = (same, different) =>
  same.flatMap((images, i) => [
    { same: true, images },
    { same: false, images: different[i] },
  ]);

/** Returns eight pairs of files or sharp objects, and the name of their source. */
function portraitPairs() {
  const folder = sharedData('london');
  if (folder === undefined) {
    const [a1, a3, b, c, d, e, f, g] = cutOuts();
    const same = [a1, a3, a1, a3].map((first) => [first, first === a1 ? a3 : a1]);
    const different = [[a1, b], [c, d], [e, a3], [f, g]]; // biome-ignore format: a table
    return { source: "face-api's demo photos", pairs: alternate(same, different) };
  }
  const files = (path) =>
    readdirSync(path)
      .sort()
      .map((name) => join(path, name));
  const people = files(folder).slice(0, 8).map(files);
  const same = people.slice(0, 4);
  const different = same.map(([first], i) => [first, people[i + 4][1]]);
  return { source: 'Face Research Lab London Set', pairs: alternate(same, different) };
}

/** Returns pairs of original 250-pixel images, or of portraits if there are none. */
function smallPairs() {
  const folder = sharedData('lfw-dev');
  if (folder === undefined) return portraitPairs();
  const rows = readFileSync(join(folder, 'pairs.tsv'), 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'));
  // Chooses evenly spaced pairs of the list, which is sorted by name.
  const spread = (label) => {
    const some = rows.filter(([, , , same]) => same === label);
    return [0.1, 0.35, 0.6, 0.85].map((share) => {
      const [, first, second] = some[Math.floor(some.length * share)];
      return [first, second].map((file) => join(folder, 'images', file));
    });
  };
  return { source: 'Labeled Faces in the Wild', pairs: alternate(spread('1'), spread('0')) };
}

const frame = (image, width, height) =>
  (typeof image === 'string' ? sharp(image) : image.clone()).resize(width, height, {
    fit: 'contain',
    background: '#808890',
  });
const jpeg = (image, quality) => image.jpeg({ quality }).toBuffer();

/** Returns a function that reads a file unchanged, and encodes a sharp object as a JPEG with this side. */
const asIs = (side) => (image) =>
  typeof image === 'string' ? readFileSync(image) : jpeg(frame(image, side, side), 90);

/** Creates a JPEG like a phone camera's: 12 megapixels, about 4 MB. Without added noise it would have 1 MB. */
async function fromPhone(image, index) {
  const grain = 15;
  const { data, info } = await frame(image, 4000, 3000)
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const random = Random.at(12, index);
  for (let at = 0; at < data.length; at += 3) {
    const noise = (random.next() - 0.5) * 2 * grain;
    for (let channel = at; channel < at + 3; channel++)
      data[channel] = Math.min(255, Math.max(0, Math.round(data[channel] + noise)));
  }
  return jpeg(sharp(data, { raw: info }), 90);
}

const kinds = {
  small: { pairs: smallPairs, make: asIs(250) },
  card: { pairs: portraitPairs, make: (image) => jpeg(frame(image, 640, 480), 88) },
  photo: { pairs: portraitPairs, make: asIs(1350) },
  // Only four pairs, because the load generator keeps all bodies in memory.
  phone: { pairs: () => ({ ...portraitPairs(), pairs: portraitPairs().pairs.slice(0, 4) }), make: fromPhone },
};

/** Creates missing images. Resolves to { source, pairs: [{ same, files: [first, second] }] }. */
export async function pairsOf(kind) {
  const { source, pairs } = kinds[kind].pairs();
  const facts = [sharp.versions.sharp, sharedData('london') ?? '', sharedData('lfw-dev') ?? ''];
  const recipe = new URL(import.meta.url).pathname;
  const folder = join(cache, 'pictures', `${kind}-${hashOf([recipe], facts).slice(0, 12)}`);
  mkdirSync(folder, { recursive: true });
  const made = [];
  for (const [index, { same, images }] of pairs.entries()) {
    const files = images.map((_image, side) => join(folder, `${index}-${side + 1}.jpg`));
    for (const [side, file] of files.entries()) {
      if (existsSync(file)) continue;
      writeFileSync(`${file}.part`, await kinds[kind].make(images[side], 2 * index + side));
      renameSync(`${file}.part`, file);
    }
    made.push({ same, files });
  }
  return { source, pairs: made };
}

/**
 * `kind` is the kind of images, by default the name of the scenario. `key` replaces the contender's key. `expects`
 * lists the statuses that count as responses, by default 200. `max_clients` limits memory.
 */
export const scenarios = {
  small: { what: 'two JPEGs of 250 pixels' },
  card: { what: 'two JPEGs of 640×480' },
  photo: { what: 'two JPEGs of 1350 pixels' },
  phone: { what: 'two JPEGs of 12 megapixels, 4 MB each', max_clients: 32 },
  // Expects 429 too, which the server returns after many wrong keys from one IP address.
  'rejected-key': {
    what: 'a wrong key, with a small form',
    kind: 'small',
    key: `fm_${'0'.repeat(12)}_${'x'.repeat(43)}`,
    expects: [401, 429],
  },
};

/** Returns the kind of images that a scenario sends. */
export const kindOf = (scenario) => scenarios[scenario].kind ?? scenario;

export const bodiesOf = async (scenario, mode) =>
  (await pairsOf(kindOf(scenario))).pairs.map(({ files: [first, second] }) =>
    form({ image1: readFileSync(first), image2: readFileSync(second), accuracy_mode: mode }),
  );
