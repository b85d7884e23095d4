// Pictures with known contents. Those that are not part of the project are in ../shared or $FACEMATCH_SHARED.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root } from '../../test/support/programs.mjs';
import { sharedData } from '../lib/data.mjs';
import { intersectionOverUnion } from '../lib/geometry.mjs';

const folder = sharedData();

/** Whether the labelled pictures exist. */
export const shared = folder !== undefined;

function files(name, pattern = /\.(jpe?g|png|webp)$/i) {
  return readdirSync(join(folder, name), { recursive: true })
    .filter((file) => pattern.test(file))
    .sort()
    .map((file) => join(folder, name, file));
}

const read = (file) => ({ name: basename(file), bytes: readFileSync(file) });

/** The sample photos of @vladmandic/face-api, with the number of people in each, counted by eye. */
export function samples() {
  return [3, 3, 3, 4, 5, 4].map((people, i) => ({
    ...read(join(root, `node_modules/@vladmandic/face-api/demo/sample${i + 1}.jpg`)),
    people,
  }));
}

/** Studio portraits of one person each. */
export const portraits = () => files('london').map(read);

/** Pictures without a human face. */
export const negatives = () => files('negatives').map(read);

/** Group photos with the number of people in their names. */
export function groups() {
  return files('groups/compreface', /_\d+\.jpg$/).map((file) => ({
    ...read(file),
    people: Number(/_(\d+)\.jpg$/.exec(file)[1]),
  }));
}

/** One face, rotated in the pixels: { name, bytes, degrees, upright }. */
export function turnedFaces() {
  return files('groups/rotated').map((file) => {
    const [, stem, degrees] = /^(\D+)(\d+)\.jpg$/.exec(basename(file));
    return {
      ...read(file),
      degrees: Number(degrees),
      upright: readFileSync(join(folder, 'groups/rotated', `${stem}0.jpg`)),
    };
  });
}

/** The same pictures under every EXIF orientation: { name, bytes, upright }. */
export function oriented() {
  return files('exif').map((file) => ({
    ...read(file),
    upright: readFileSync(file.replace(/_o\d\.\w+$/, '_o1.jpg')),
  }));
}

/** Group photos with hand-labelled boxes, without those marked to be ignored: { name, bytes, boxes }. */
export function labelled() {
  const boxes = new Map();
  for (const list of files('groups/dlib', /\.xml$/)) {
    for (const [, name, content] of readFileSync(list, 'latin1').matchAll(
      /<image file='([^']+)'[^>]*>(.*?)<\/image>/gs,
    )) {
      const known = boxes.get(name) ?? [];
      for (const [, attributes] of content.matchAll(/<box ([^>]*)>/g)) {
        const value = (key) => Number(new RegExp(`\\b${key}='(-?\\d+)'`).exec(attributes)?.[1] ?? 0);
        if (value('ignore') === 1) continue;
        const box = { x: value('left'), y: value('top'), width: value('width'), height: value('height') };
        // The lists name some pictures twice.
        if (!known.some((other) => intersectionOverUnion(other, box) > 0.5)) known.push(box);
      }
      boxes.set(name, known);
    }
  }
  return files('groups/dlib')
    .map(read)
    .filter(({ name }) => boxes.has(name))
    .map((picture) => ({ ...picture, boxes: boxes.get(picture.name) }));
}
