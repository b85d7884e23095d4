import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { addonFile, projectPath } from '../../../src/config/paths.ts';
import { loadPack } from '../../../src/engine/load-addon.ts';
import { packDirectory, readCalibratedManifest } from '../../../src/engine/manifest.ts';
import { sha256 } from '../../../src/engine/pack-files.ts';
import { sharedFolder } from '../../../test/fixtures/images.ts';
import { type FoundPeople, type Grouping, type PersonImage, peopleSet, readPeople } from '../../people.ts';

// The compiled one: it starts worker threads, which cannot run TypeScript.
const { embedImages }: typeof import('../../embed-images.ts') = await import(
  projectPath('dist/lab/embed-images.js')
);

const directory = packDirectory('default');
const manifest = readCalibratedManifest(directory);
const kept = projectPath('build/embeddings');

/**
 * Those images of a set that are `wanted`, as the engine embeds them in mode balance; `groupings` as of readPeople. Thousands take
 * minutes, so they are kept by a hash of all that they depend on.
 */
export async function peopleOf(
  set: string,
  groupings?: readonly Grouping[],
  wanted: (image: PersonImage) => boolean = () => true,
): Promise<FoundPeople> {
  const data = join(sharedFolder()!, 'data', set);
  const folder = existsSync(join(data, 'images')) ? join(data, 'images') : data;
  const people = readPeople(set, folder, groupings).filter(wanted);
  const names = people.map(({ file }) => file);
  const file = join(kept, `${set}-${keyOf(names)}.v8`);
  let found: Awaited<ReturnType<typeof embedImages>>;
  try {
    found = deserialize(readFileSync(file));
  } catch {
    found = await embed(folder, names);
    mkdirSync(kept, { recursive: true });
    // Under another name first, so that an interrupted run leaves no incomplete file.
    writeFileSync(`${file}.${process.pid}`, serialize(found));
    renameSync(`${file}.${process.pid}`, file);
  }
  return peopleSet(set, people, found);
}

function keyOf(names: readonly string[]): string {
  const addon = addonFile() ?? projectPath('build/addon/Release/facematch.node');
  const parts = [sha256(readFileSync(addon)), JSON.stringify({ ...manifest, calibration: null, names })];
  return sha256(Buffer.from(parts.join('\n'))).slice(0, 16);
}

function embed(folder: string, names: readonly string[]) {
  // It holds for the whole process, and so for its worker threads.
  loadPack(directory, manifest);
  const { min_det_score: minDetScore } = manifest;
  const how = { packDirectory: directory, folder, mode: 'balance', minDetScore, workers: 2 } as const;
  return embedImages(names, { ...how, onImage() {} });
}
