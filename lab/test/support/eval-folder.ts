import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { loadPack } from '../../../src/engine/load-addon.ts';
import { analyseOptions, blank, manifest, pack, sample } from '../../../test/fixtures/images.ts';
import { newFolder } from '../../../test/support/folder.ts';

/** An image name that would inject HTML if a report did not escape it. */
export const hostile = '<img src=x onerror="alert(1)">&\'.jpg';

/**
 * Writes each face of three group photos twice: unchanged, and small and dark. Returns the people's names.
 */
async function writeFaces(folder: string): Promise<string[]> {
  const people: string[] = [];
  for (const photo of [1, 2, 4]) {
    const bytes = sample(photo);
    const result = loadPack(pack, manifest).analyse(pack, bytes, analyseOptions);
    if (!result.ok) throw new Error(result.code);
    for (const { index, box } of result.image.faces) {
      const person = `photo${photo}-face${index}`;
      const left = Math.max(0, Math.round(box.x - box.width / 2));
      const top = Math.max(0, Math.round(box.y - box.height / 2));
      const face = sharp(bytes).extract({
        left,
        top,
        width: Math.min(Math.round(2 * box.width), result.image.width - left),
        height: Math.min(Math.round(2 * box.height), result.image.height - top),
      });
      mkdirSync(join(folder, 'images', person), { recursive: true });
      writeFileSync(join(folder, 'images', person, 'a.png'), await face.png().toBuffer());
      const changed = await face.clone().resize(150).modulate({ brightness: 0.7 }).jpeg().toBuffer();
      writeFileSync(join(folder, 'images', person, people.length === 0 ? hostile : 'b.jpg'), changed);
      people.push(person);
    }
  }
  return people;
}

function list(folder: string, name: string, lines: readonly (readonly [string, string, 0 | 1])[]): void {
  const text = lines.map((line) => `${line.join('\t')}\n`).join('');
  writeFileSync(join(folder, name), `image1\timage2\tsame\n${text}`);
}

/**
 * Makes a folder with `images`, and lists of their pairs. `<b>.tsv` has 10 mated and 135 non-mated pairs, one pair
 * with an image without a face, and one with an unreadable image. `few.tsv` has 3 mated and 5 non-mated pairs;
 * `non-mated.tsv` and `alike.tsv` have pairs of one kind. `listed` has the same images with a `people.tsv`.
 */
export async function evalFolder(): Promise<string> {
  const folder = newFolder();
  const people = await writeFaces(folder);
  const second = (person: string) => `${person}/${person === people[0] ? hostile : 'b.jpg'}`;
  const same = people.map((person) => [`${person}/a.png`, second(person), 1] as const);
  const different = people.flatMap((a, i) =>
    people.slice(i + 1).flatMap((b) => {
      const [first, other] = [`${a}/a.png`, `${b}/a.png`];
      return [
        [first, second(b), 0],
        [second(a), other, 0],
        [first, other, 0],
      ] as const;
    }),
  );
  mkdirSync(join(folder, 'images/nobody'));
  const turned = sharp(await blank(60, 90, 'png')).withMetadata({ orientation: 6 });
  writeFileSync(join(folder, 'images/nobody/blank.png'), await turned.toBuffer());
  writeFileSync(join(folder, 'images/nobody/notes.jpg'), 'no image');
  const odd = ['blank.png', 'notes.jpg'].map((name) => [`nobody/${name}`, second(people[0]!), 0] as const);
  list(folder, '<b>.tsv', [...same, ...different, ...odd]);
  cpSync(join(folder, 'images'), join(folder, 'listed/images'), { recursive: true });
  const listed = people.flatMap((person, i) =>
    [`${person}/a.png`, second(person)].map((image) => [image, i, i < 5 ? '3-9' : '<b>20+', 'FM'[i % 2]]),
  );
  for (const name of ['blank.png', 'notes.jpg']) listed.push([`nobody/${name}`, 'nobody', '20+', 'F']);
  const lines = listed.map(([image, ...labels]) => `images/${[image, ...labels].join('\t')}\n`);
  writeFileSync(join(folder, 'listed/people.tsv'), `image\tperson\tage\tsex\n${lines.join('')}`);
  list(folder, 'few.tsv', [...same.slice(0, 3), ...different.slice(0, 5)]);
  list(folder, 'non-mated.tsv', different.slice(0, 5));
  list(folder, 'alike.tsv', same.slice(0, 5));
  return folder;
}
