// The pictures of a scenario, made once and kept: every contender gets the same bytes.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { hashOf } from '../../scripts/lib/stamp.mjs';
import { cache, sharedData } from '../lib/paths.mjs';
import { Random } from '../lib/random.mjs';
import { portraitPairs, smallPairs } from './people.mjs';

const grey = '#808890';

const frame = (picture, width, height) =>
  sharpOf(picture).resize(width, height, { fit: 'contain', background: grey });
const sharpOf = (picture) => (typeof picture === 'string' ? sharp(picture) : picture.clone());
const jpeg = (picture, quality) => picture.jpeg({ quality }).toBuffer();

/** Files go as they are. */
const asIs = (side) => (picture) =>
  typeof picture === 'string' ? readFileSync(picture) : jpeg(frame(picture, side, side), 90);

/** Grain of a sensor, in steps of brightness: without it an enlarged photo has a quarter of a camera's bytes. */
const grain = 15;

/** 12 megapixels and some 4 MB. */
async function fromPhone(picture, index) {
  const { data, info } = await frame(picture, 4000, 3000)
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const random = Random.at(12, index);
  for (let at = 0; at < data.length; at += 3) {
    const noise = (random.next() - 0.5) * 2 * grain;
    for (let channel = at; channel < at + 3; channel++) {
      data[channel] = Math.min(255, Math.max(0, Math.round(data[channel] + noise)));
    }
  }
  return jpeg(sharp(data, { raw: info }), 90);
}

const kinds = {
  small: { pairs: () => smallPairs() ?? portraitPairs(), make: asIs(250) },
  card: { pairs: portraitPairs, make: (picture) => jpeg(frame(picture, 640, 480), 88) },
  photo: { pairs: portraitPairs, make: asIs(1350) },
  // Few, since each of many clients has one on its way.
  phone: { pairs: () => ({ ...portraitPairs(), pairs: portraitPairs().pairs.slice(0, 4) }), make: fromPhone },
};

export const kindsOfPictures = Object.keys(kinds);

const folderOf = (kind) => {
  const facts = [sharp.versions.sharp, sharedData('london') ?? '', sharedData('lfw-dev') ?? ''];
  const recipe = ['pictures.mjs', 'people.mjs'].map((file) => new URL(file, import.meta.url).pathname);
  return join(cache, 'pictures', `${kind}-${hashOf(recipe, facts).slice(0, 12)}`);
};

/** Makes those that are missing. Answers { source, pairs: [{ same, files: [first, second] }] }. */
export async function pairsOf(kind) {
  const { pairs: list, make } = kinds[kind];
  const { source, pairs } = list();
  const folder = folderOf(kind);
  mkdirSync(folder, { recursive: true });
  const made = [];
  for (const [index, { same, pictures }] of pairs.entries()) {
    const files = pictures.map((_, side) => join(folder, `${index}-${side + 1}.jpg`));
    for (const [side, file] of files.entries()) {
      if (existsSync(file)) continue;
      writeFileSync(`${file}.part`, await make(pictures[side], 2 * index + side));
      renameSync(`${file}.part`, file);
    }
    made.push({ same, files });
  }
  return { source, pairs: made };
}
