import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import sharp from 'sharp';
import { loadAddon } from '../../../src/engine/addon.ts';
import { packDirectory, readDraft } from '../../../src/engine/pack.ts';
import { projectPath } from '../../../src/paths.ts';
import { detectOptions, sample } from '../../fixtures/pictures.ts';

/**
 * A clone of the project that has been set up, in a scratch folder, with the files that the docs name: what a reader has who
 * types their commands. Whatever these write, into docs and packs too, lands there.
 */
export async function docFolder(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'facematch-docs-'));
  clone(folder);
  for (const name of ['tmp', 'home/.zfunc', 'home/.config/fish/completions', 'photos', 'staff']) {
    mkdirSync(join(folder, name), { recursive: true });
  }
  for (const [name, number] of photos) {
    await sharp(sample(number)).toFile(join(folder, name));
  }
  const people = await writePeople(join(folder, 'DIR'));
  for (const list of ['PAIRS.tsv', 'pairs.tsv', 'staff.tsv']) writePairs(join(folder, list), people);
  for (const copy of ['photos', 'staff/photos']) {
    cpSync(join(folder, 'DIR'), join(folder, copy), { recursive: true });
  }
  for (const set of ['labelled/data/lfw-dev', 'labelled/data/rmfd-dev', 'lfw'])
    writeLabelled(join(folder, set), folder, people);
  // A table is fitted to both: of so few pairs those that score highest must not be the same ones.
  await writePeople(join(folder, 'rmfd/images'), 0.9);
  writeLabelled(join(folder, 'few'), folder, people.slice(0, 6));
  writeOwnPack(folder);
  for (const copy of ['ready-pack', 'fitted-pack']) {
    cpSync(packDirectory('default'), join(folder, copy), { recursive: true });
  }
  if (hasYunet) cpSync(yunetNet, join(folder, 'yunet_n_dynamic.onnx'));
  return folder;
}

const yunetNet = join(packDirectory('yunet'), 'detect.onnx');
/** Nobody fetches that file: it is there where a developer brought it. */
export const hasYunet = existsSync(yunetNet);

/** Names that the docs give to photos, and which sample each is. One woman is in 1 and 3, among others. */
const photos = [
  ['passport.jpg', 1],
  ['selfie.jpg', 3],
  ['one.jpg', 1],
  ['two.jpg', 3],
  ['alice.jpg', 1],
  ['bob.png', 2],
  ['a.jpg', 1],
  ['b.jpg', 3],
  ['b.webp', 3],
  ['group.jpg', 4],
  ['photos/1.jpg', 1],
  ['photos/2.jpg', 2],
] as const;

/** Copies what is small and may be changed; links what is large, and what no command changes. */
function clone(folder: string): void {
  const left = /^(?:\.git|\.cache|node_modules|bench\/node_modules|build|coverage|keys\.json)$/;
  cpSync(projectPath('.'), folder, {
    recursive: true,
    preserveTimestamps: true,
    filter: (path) => !left.test(relative(projectPath('.'), path)),
  });
  mkdirSync(join(folder, 'build'));
  cpSync(projectPath('build/pack.stamp'), join(folder, 'build/pack.stamp'));
  for (const linked of ['node_modules', 'bench/node_modules', '.cache', 'build/addon', 'build/asan-addon']) {
    if (existsSync(projectPath(linked))) symlinkSync(projectPath(linked), join(folder, linked));
  }
}

/**
 * Writes a folder for each person of some samples, with a photo as it is and a small dark one, and makes of everybody's mirror
 * image somebody else: to a net they are. Answers the folders' names; `brightness` is a factor.
 */
async function writePeople(folder: string, brightness = 1): Promise<string[]> {
  const names: string[] = [];
  for (const number of [1, 2, 4, 5, 6]) {
    const found = loadAddon().detect(packDirectory('default'), sample(number), detectOptions);
    if (!found.ok) throw new Error(found.code);
    for (const { index, box } of found.image.faces) {
      const left = Math.max(0, Math.round(box.x - box.width / 2));
      const top = Math.max(0, Math.round(box.y - box.height / 2));
      const width = Math.min(Math.round(2 * box.width), found.image.width - left);
      const height = Math.min(Math.round(2 * box.height), found.image.height - top);
      for (const mirrored of [false, true]) {
        const name = `person-${number}${index}${mirrored ? 'm' : ''}`;
        const photo = sharp(sample(number))
          .extract({ left, top, width, height })
          .flop(mirrored)
          .modulate({ brightness });
        mkdirSync(join(folder, name), { recursive: true });
        const small = photo
          .clone()
          .resize(150)
          .modulate({ brightness: 0.7 * brightness });
        await photo
          .resize(250)
          .jpeg()
          .toFile(join(folder, name, 'a.jpg'));
        await small.jpeg().toFile(join(folder, name, 'b.jpg'));
        names.push(name);
      }
    }
  }
  return names;
}

/** Everybody with himself, and with the next two; in five folds. */
function writePairs(file: string, people: readonly string[]): void {
  const lines = people.flatMap((person, i) => {
    const other = (step: number) => people[(i + step) % people.length]!;
    return [
      [i % 5, `${person}/a.jpg`, `${person}/b.jpg`, 1],
      // Not the mirror image, which is next to it.
      [i % 5, `${person}/a.jpg`, `${other(2)}/b.jpg`, 0],
      [i % 5, `${person}/a.jpg`, `${other(4)}/b.jpg`, 0],
    ].map((cells) => cells.join('\t'));
  });
  writeFileSync(file, `${['fold\timage1\timage2\tsame', ...lines].join('\n')}\n`);
}

/** As the developers' labelled pictures lie, which are no part of the project. */
function writeLabelled(set: string, folder: string, people: readonly string[]): void {
  mkdirSync(join(set, 'images'), { recursive: true });
  for (const person of people)
    cpSync(join(folder, 'DIR', person), join(set, 'images', person), { recursive: true });
  writePairs(join(set, 'pairs.tsv'), people);
}

/** my-pack as models/README.md tells to begin one: another pack's nets, and an embedder that one brings, here as PATH. */
function writeOwnPack(folder: string): void {
  const { cohort: _, human: __, calibration: ___, ...draft } = readDraft(packDirectory('default'));
  const { sha256 } = draft.embedder;
  const own = {
    ...draft,
    name: 'my-pack',
    source: {
      kind: 'project',
      project: 'mine',
      commit: '1',
      licence: 'MIT',
      licence_note: 'as it says',
      get: 'It is made by the test.',
    },
    detector: { ...draft.detector, from: { pack: 'default' } },
    landmarks: { ...draft.landmarks, from: { pack: 'default' } },
    embedder: { ...draft.embedder, from: 'embed.onnx', source_sha256: sha256 },
  };
  mkdirSync(join(folder, 'my-pack'));
  writeFileSync(join(folder, 'my-pack/manifest.json'), JSON.stringify(own));
  writeFileSync(join(folder, 'PATH'), readFileSync(join(packDirectory('default'), draft.embedder.file)));
}
