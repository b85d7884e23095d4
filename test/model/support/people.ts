import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { addonFile } from '../../../src/config.ts';
import type { AccuracyMode } from '../../../src/engine/addon.ts';
import { packDirectory, readManifest, sha256 } from '../../../src/engine/pack.ts';
import { projectPath } from '../../../src/paths.ts';
import { sharedFolder } from '../../fixtures/pictures.ts';

/**
 * Labelled people as the engine embeds them. Thousands of pictures take a minute, so vectors are kept under
 * build/embeddings by a hash of all that they depend on: the addon, the pack, the mode and the pictures' names.
 */

// The compiled one: it starts worker threads, which cannot run TypeScript.
const { embedPictures }: typeof import('../../../src/eval/embed-pictures.ts') = await import(
  projectPath('dist/src/eval/embed-pictures.js')
);

const directory = packDirectory('default');
const manifest = readManifest(directory);
const kept = projectPath('build/embeddings');

export interface Portrait {
  person: string;
  embedding: Float32Array;
  /** What the engine subtracts with the pack's own cohort. */
  cohort_score: number;
}

/** One portrait for each picture of a set with a face in it; nothing where there is no such set. */
export async function portraitsOf(set: string, mode: AccuracyMode): Promise<Portrait[]> {
  const folder = join(sharedFolder()!, 'data', set, 'images');
  const names = readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.jpg'))
    .sort();
  const file = join(kept, `${set}-${mode}-${keyOf(mode, names)}.f32`);
  return read(file, names) ?? write(file, names, await embed(folder, mode, names));
}

function keyOf(mode: AccuracyMode, names: readonly string[]): string {
  const { detector, landmarks, embedder, cohort, human, min_det_score } = manifest;
  const addon = addonFile() ?? projectPath('build/addon/Release/facematch.node');
  const parts = [
    sha256(readFileSync(addon)),
    JSON.stringify({ detector, landmarks, embedder, cohort, human, min_det_score, mode, names }),
  ];
  return sha256(Buffer.from(parts.join('\n'))).slice(0, 16);
}

/** A row a picture: its cohort mean, then its vector; NaN throughout where there is no face. */
const rowLength = manifest.embedder.dimensions + 1;

async function embed(folder: string, mode: AccuracyMode, names: readonly string[]): Promise<Float32Array> {
  const pictures = await embedPictures(names, {
    packDirectory: directory,
    folder,
    mode,
    minDetScore: manifest.min_det_score,
    workers: 2,
    onPicture() {},
  });
  const rows = new Float32Array(names.length * rowLength).fill(Number.NaN);
  for (const [i, name] of names.entries()) {
    const { embedding, cohort_score } = pictures.get(name)!;
    if (embedding) rows.set([cohort_score, ...embedding], i * rowLength);
  }
  return rows;
}

function read(file: string, names: readonly string[]): Portrait[] | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch {
    return undefined;
  }
  if (bytes.length !== 4 * names.length * rowLength) return undefined;
  return toPortraits(new Float32Array(new Uint8Array(bytes).buffer), names);
}

/** By another name first: a run that is broken off must not leave half a file. */
function write(file: string, names: readonly string[], rows: Float32Array): Portrait[] {
  mkdirSync(dirname(file), { recursive: true });
  const draft = join(kept, `.${process.pid}-${basename(file)}`);
  writeFileSync(draft, rows);
  renameSync(draft, file);
  return toPortraits(rows, names);
}

function toPortraits(rows: Float32Array, names: readonly string[]): Portrait[] {
  return names.flatMap((name, i) => {
    const row = rows.subarray(i * rowLength, (i + 1) * rowLength);
    const [cohort_score = Number.NaN] = row;
    if (Number.isNaN(cohort_score)) return [];
    return [{ person: name.split('/')[0]!, embedding: row.slice(1), cohort_score }];
  });
}
