import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { damagedPictures, filesBelow, sharedFolder, smallSample } from '../fixtures/pictures.ts';
import { builds } from './support/builds.ts';
import { runChild } from './support/child.ts';

/** Damaged and exotic pictures: each gets an answer of its own, and the process lives on, with and without a sanitizer. */

const longest = 240_000;
vi.setConfig({ testTimeout: longest });

const shared = sharedFolder();
const drawn = await mkdtemp(join(tmpdir(), 'facematch-corrupt-'));
const sound = join(drawn, 'sound.png');
const pictures = join(drawn, 'pictures');
const names: string[] = [];

beforeAll(async () => {
  await writeFile(sound, await smallSample(1, 320));
  for (const [name, bytes] of await damagedPictures()) {
    const folder = join(pictures, name.split(' ')[0]!);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, name), bytes);
    names.push(name);
  }
});
afterAll(() => rm(drawn, { recursive: true }));

interface Looked {
  file: string;
  outcomes: string[];
}

/** Whatever the picture: never an internal error, for that would be a 500. */
const allowed = [
  'ok',
  'no_face_found',
  'unsupported_image_format',
  'image_decode_failed',
  'image_dimensions',
];

describe.each(builds)('$name', (build) => {
  async function lookAt(folder: string): Promise<Looked[]> {
    const child = await runChild(build, 'corpus.mjs', [folder, sound], { longest });
    expect(child).toMatchObject({ code: 0, signal: null, stderr: '' });
    return child.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Looked);
  }

  it('answers every picture that was cut, flipped or patched', async () => {
    const looked = await lookAt(pictures);
    expect(looked).toHaveLength(names.length);
    expect(looked.flatMap(({ outcomes }) => outcomes).filter((word) => !allowed.includes(word))).toEqual([]);
    const cut = looked.filter(({ file }) => file.includes(' cut at '));
    expect(cut.flatMap(({ outcomes }) => outcomes)).not.toContain('ok');
    const tailed = looked.filter(({ file }) => file.endsWith('with a tail'));
    expect(tailed.flatMap(({ outcomes }) => outcomes)).toEqual(Array(tailed.length * 4).fill('ok'));
  });

  it.skipIf(!shared).each(['corrupt', 'negatives'])(
    'answers every file of the shared folder %s',
    async (name) => {
      const folder = join(shared!, 'data', name);
      const looked = await lookAt(folder);
      expect(looked.map(({ file }) => file)).toEqual(filesBelow(folder));
      expect(looked.filter(({ outcomes }) => outcomes.some((word) => !allowed.includes(word)))).toEqual([]);
    },
  );
});
