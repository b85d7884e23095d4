// Creates a set for `facematch eval-liveness` from photos with one folder per person. Renders frames of flat and bent
// prints, and of the person's own head shaped by dense landmarks, that turn as a challenge requires. Needs npm run
// setup -- --bench.
//   node bench/liveness/simulate.mjs PHOTOS OUT [--people 60] [--only live|print]
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import sharp from 'sharp';
import { loadAddon, loadPack } from '../../dist/src/engine/load-addon.js';
import { packDirectory, readManifest } from '../../dist/src/engine/manifest.js';
import { addNoise, drawTurned, surfaces } from '../../test/support/surface.mjs';
import { denseHead, depthScale, meshFinder } from './dense-head.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { people: { type: 'string', default: '60' }, only: { type: 'string' } },
});
const [photos, out] = positionals;
if (!photos || !out) {
  console.error('usage: node bench/liveness/simulate.mjs PHOTOS OUT [--people 60] [--only live|print]');
  process.exit(2);
}

const directory = packDirectory('default');
const manifest = readManifest(directory);
loadPack(directory, manifest);
const addon = loadAddon();

/**
 * Shapes in front of the camera, with their maximum angles in degrees. A print is turned further than a head, because
 * its estimated pose changes less. `surface` maps the person's landmarks to the shape.
 */
const presentations = [
  { kind: 'print', motion: 'flat', surface: surfaces.flat, yaw: 55, pitch: 55 },
  ...[0.8, 1.2, 2].flatMap((radius) => [
    {
      kind: 'print',
      motion: `bent about the vertical axis, radius ${radius}`,
      surface: () => surfaces.bentVertical(radius),
      yaw: 50,
      pitch: 50,
    },
    {
      kind: 'print',
      motion: `bent about the horizontal axis, radius ${radius}`,
      surface: () => surfaces.bentHorizontal(radius),
      yaw: 50,
      pitch: 50,
    },
  ]),
  {
    kind: 'live',
    motion: 'head by dense landmarks',
    surface: (mesh) => denseHead(mesh, scale),
    yaw: 30,
    pitch: 23,
  },
].filter(({ kind }) => values.only === undefined || values.only === kind);
const challenges = ['left', 'right'].flatMap((across) =>
  ['up', 'down'].flatMap((along) => [
    [across, along],
    [along, across],
  ]),
);
const turns = { left: [1, 0], right: [-1, 0], up: [0, 1], down: [0, -1] };

const size = { width: 480, height: 360 };
const findMesh = await meshFinder();
const people = [];
for (const person of readdirSync(photos).toSorted()) {
  if (people.length === Number(values.people)) break;
  const photo = await frontalPhoto(person);
  const mesh = photo && (await findMesh(photo.pixels, photo.eyes));
  if (mesh !== undefined) people.push({ person, photo, mesh });
}
const scale = depthScale(people.map(({ mesh }) => mesh));
const rows = [['folder', 'kind', 'person', 'motion', 'steps']];
for (const [at, { person, photo, mesh }] of people.entries()) {
  const steps = challenges[at % challenges.length];
  for (const { kind, motion, surface, yaw, pitch } of presentations) {
    const folder = `${kind}/${person} ${motion}`;
    mkdirSync(join(out, folder), { recursive: true });
    const poses = posesOf(steps, yaw, pitch);
    const shape = surface(mesh);
    for (const [i, pose] of poses.entries()) {
      // Adds small movements of the hand or the head.
      const shift = [2 * Math.sin(5 * i), 2 * Math.cos(3 * i)];
      const turn = {
        yaw: pose.yaw + 1.5 * Math.sin(4 * i) + photo.straight.yaw * (kind === 'live'),
        pitch: pose.pitch + 1.2 * Math.cos(5 * i) + photo.straight.pitch * (kind === 'live'),
      };
      const frame = drawTurned(photo.pixels, photo.eyes, shape, { ...size, ...turn, scale: 60, shift });
      addNoise(frame, i);
      const file = join(out, folder, `${String(i).padStart(2, '0')}.jpg`);
      await sharp(frame.data, { raw: { ...size, channels: 3 } })
        .jpeg({ quality: 90 })
        .toFile(file);
    }
    rows.push([folder, kind, person, motion, steps.join(',')]);
  }
}
writeFileSync(join(out, 'sequences.tsv'), rows.map((row) => `${row.join('\t')}\n`).join(''));
console.log(`${rows.length - 1} sequences of ${people.length} people in ${out}`);

/** Returns the poses: frontal twice, then each step to its angle and back, in changes too small to count as jumps. */
function posesOf(steps, yaw, pitch) {
  const path = steps.flatMap((step) => {
    const [across, along] = turns[step];
    return [0.4, 0.8, 1, 1, 0.8, 0.4, 0].map((share) => ({
      yaw: across * share * yaw,
      pitch: along * share * pitch,
    }));
  });
  return [{ yaw: 0, pitch: 0 }, { yaw: 0, pitch: 0 }, ...path];
}

/** Resolves to the first photo of a person with exactly one large, nearly frontal face; undefined if there is none. */
async function frontalPhoto(person) {
  for (const name of readdirSync(join(photos, person)).toSorted()) {
    const { data, info } = await sharp(join(photos, person, name))
      .removeAlpha()
      .toColourspace('srgb')
      .raw()
      .toBuffer({ resolveWithObject: true });
    const png = await sharp(data, { raw: info }).png().toBuffer();
    const options = {
      max_pixels: 64e6,
      min_side: 16,
      accuracy_mode: 'balance',
      min_det_score: manifest.min_det_score,
      use_heuristic_fallback: true,
    };
    const found = addon.analyse(directory, new Uint8Array(png), options);
    const faces = found.ok ? found.image.faces : [];
    if (faces.length !== 1 || info.channels !== 3) continue;
    const { pose, box, landmarks } = faces[0];
    if (Math.abs(pose.yaw) > 10 || Math.abs(pose.pitch) > 12 || box.width < 90) continue;
    const pixels = { data, width: info.width, height: info.height };
    return {
      pixels,
      eyes: [landmarks.right_eye, landmarks.left_eye],
      straight: { yaw: -pose.yaw, pitch: -pose.pitch },
    };
  }
  return undefined;
}
