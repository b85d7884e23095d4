import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { addonFile } from '../../../src/config/environment.ts';
import { projectPath } from '../../../src/config/paths.ts';
import type { AccuracyMode } from '../../../src/engine/addon.ts';
import { loadPack } from '../../../src/engine/load-addon.ts';
import { packDirectory, readCalibratedManifest } from '../../../src/engine/manifest.ts';
import { sha256 } from '../../../src/engine/pack-files.ts';
import { sharedFolder } from '../../../test/fixtures/images.ts';
import {
  type Grouping,
  type LabelledImage,
  type PeopleSet,
  type PersonImage,
  readPeople,
} from '../../people.ts';

/**
 * Labelled people as the engine embeds them. Thousands of images take a minute, so vectors are kept under
 * build/embeddings by a hash of all that they depend on: the addon, the pack, the mode and the images' names.
 */

// The compiled one: it starts worker threads, which cannot run TypeScript.
const { embedImages }: typeof import('../../embed-images.ts') = await import(
  projectPath('dist/lab/embed-images.js')
);

const directory = packDirectory('default');
const manifest = readCalibratedManifest(directory);
const kept = projectPath('build/embeddings');
/** A row for each image: cohort score, then vector; only NaN where there is no face. */
const rowLength = manifest.embedder.dimensions + 1;

export interface ImageSet extends PeopleSet {
  images: readonly (LabelledImage & { file: string })[];
}

/** Those images of a set that are `wanted` and have a face; `groupings` as of readPeople. */
export async function peopleOf(
  set: string,
  mode: AccuracyMode,
  groupings?: readonly Grouping[],
  wanted: (image: PersonImage) => boolean = () => true,
): Promise<ImageSet> {
  const data = join(sharedFolder()!, 'data', set);
  const folder = existsSync(join(data, 'images')) ? join(data, 'images') : data;
  const people = readPeople(set, folder, groupings).filter(wanted);
  const names = people.map(({ file }) => file);
  const file = join(kept, `${set}-${mode}-${keyOf(mode, names)}.f32`);
  const rows = read(file, names.length) ?? write(file, await embed(folder, mode, names));
  const images = people.flatMap((labelled, i) => {
    const row = rows.subarray(i * rowLength, (i + 1) * rowLength);
    const cohort_score = row[0]!;
    return Number.isNaN(cohort_score) ? [] : [{ ...labelled, cohort_score, embedding: row.slice(1) }];
  });
  return { name: set, images };
}

function keyOf(mode: AccuracyMode, names: readonly string[]): string {
  const addon = addonFile() ?? projectPath('build/addon/Release/facematch.node');
  const { detector, close_detector, landmarks, embedder, cohort, human, occlusion, min_det_score } = manifest;
  const used = { detector, close_detector, landmarks, embedder, cohort, human, occlusion, min_det_score };
  const parts = [sha256(readFileSync(addon)), JSON.stringify({ ...used, mode, names })];
  return sha256(Buffer.from(parts.join('\n'))).slice(0, 16);
}

async function embed(folder: string, mode: AccuracyMode, names: readonly string[]): Promise<Float32Array> {
  // It holds for the whole process, and so for its worker threads.
  loadPack(directory, manifest);
  const found = await embedImages(names, {
    packDirectory: directory,
    folder,
    mode,
    minDetScore: manifest.min_det_score,
    workers: 2,
    onImage() {},
  });
  const rows = new Float32Array(names.length * rowLength).fill(Number.NaN);
  for (const [i, name] of names.entries()) {
    const { embedding, cohort_score } = found.get(name)!;
    if (embedding) rows.set([cohort_score, ...embedding], i * rowLength);
  }
  return rows;
}

function read(file: string, count: number): Float32Array | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch {
    return undefined;
  }
  return bytes.length === 4 * count * rowLength ? new Float32Array(new Uint8Array(bytes).buffer) : undefined;
}

/** Under another name first, so that an interrupted run leaves no incomplete file. */
function write(file: string, rows: Float32Array): Float32Array {
  mkdirSync(dirname(file), { recursive: true });
  const draft = join(kept, `.${process.pid}-${basename(file)}`);
  writeFileSync(draft, rows);
  renameSync(draft, file);
  return rows;
}
