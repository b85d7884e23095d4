import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { imagesBelow } from '../../lab/people.ts';
import { loadPack } from '../../src/engine/load-addon.ts';
import { analyseOptions, blank, manifest, pack, sample } from '../fixtures/images.ts';
import { newFolder } from '../support/folder.ts';
import { execute, expectFailure, facematch, program } from './support/cli.ts';
import type { Json } from './support/client.ts';

/** Commands on several images; cli-detect.test.ts has detect. */

const folder = newFolder();
for (const number of [1, 2, 3]) writeFileSync(join(folder, `${number}.jpg`), sample(number));
writeFileSync(join(folder, 'blank.png'), await blank(80, 60, 'png'));
writeFileSync(join(folder, 'notes.jpg'), 'no image');

const noImage =
  'error: Send notes.jpg as JPEG, PNG or WebP; this one is text, "no image". To send an image, read the file as bytes, and send these.';

describe('facematch match with several candidates', () => {
  const match = (line: string) => facematch(`match --mode fast ${line}`, folder);

  test('tells the best first, and those that cannot be judged at the end', async () => {
    const { code, stdout, stderr } = await match('1.jpg 2.jpg notes.jpg gone.jpg 3.jpg');
    expect(code).toBe(1);
    const [head, ...lines] = stdout.trimEnd().split('\n');
    expect(head).toBe('1 of 2 images match 1.jpg (the threshold is 70 %)');
    expect(lines).toEqual([
      expect.stringMatching(/^ +≥ 70\.5 % {2}match {5}3\.jpg: fewer than 1 in 11,000 pairs/),
      expect.stringMatching(/^ +\d+\.\d % {2}no match {2}2\.jpg: /),
      expect.stringMatching(/^ {2}warning {2}The face compared in 2\.jpg is turned /),
    ]);
    expect(stderr.trimEnd().split('\n')).toEqual([
      noImage,
      'error: The image gone.jpg cannot be read (ENOENT).',
    ]);
  });

  test('with --json answers as the server does', async () => {
    const { code, stdout } = await match('--json --threshold 99.9 1.jpg 2.jpg 3.jpg');
    expect(code).toBe(0);
    const answer = JSON.parse(stdout);
    expect(answer).toMatchObject({ threshold_percent: 99.9, accuracy_mode: 'fast', matches: 0 });
    expect(answer.results.map(({ index, filename, match }: Json) => [index, filename, match])).toEqual([
      [0, '2.jpg', false],
      [1, '3.jpg', false],
    ]);
  });

  test('fails when the reference has no face', async () => {
    expectFailure(await match('blank.png 1.jpg 2.jpg'), 1, 'as blank.png');
  });
});

describe('facematch match --person', () => {
  const match = (line: string) => facematch(`match --mode fast --person ${line}`, folder);

  test('judges the photos of both people at once', async () => {
    const { code, stdout } = await match('1.jpg --with 3.jpg 3.jpg 1.jpg');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Match: the same person\n {2}confidence {2}≥ 80\.0 %/);
    expect(stdout).toMatch(/ {2}image1 {6}3\.jpg, [\d.]+ % with the others\n/);
    const json = JSON.parse((await match('--json 1.jpg 3.jpg 1.jpg')).stdout);
    expect(json).toMatchObject({ match: true, photos_compared: { image1: 1, image2: 2 } });
  });

  test('names the photo of somebody else, and refuses too many', async () => {
    expectFailure(await match('1.jpg 3.jpg notes.jpg'), 1, 'image2[1]');
    expectFailure(await match(`1.jpg ${'--with 3.jpg '.repeat(4)}3.jpg`), 1, 'At most 4 photos');
  });
});

test.each(['nope.jpg 2.jpg', '1.jpg nope.jpg', 'nope.jpg 2.jpg 3.jpg'])(
  'facematch match says of a file that is not there what the other commands say: %s',
  async (files) => {
    const stderr = 'error: The image nope.jpg cannot be read (ENOENT).\n';
    expect(await facematch(`match ${files}`, folder)).toEqual({ code: 1, stdout: '', stderr });
  },
);

test('a name in Latin-1 is opened like any other, and no other file in its place', async () => {
  const odd = newFolder();
  const latin1 = (name: string) => Buffer.from(join(odd, name), 'latin1');
  const line = 'exec "$0" "$1" detect --json --mode fast */*.jpg';
  const env = { PATH: process.env.PATH, SHLVL: '1' };
  const detect = () => execute('bash', ['-c', line, process.execPath, program], odd, env);
  mkdirSync(latin1('\xe9t\xe9'));
  writeFileSync(latin1('\xe9t\xe9/M\xfcller.jpg'), sample(1));
  expect(JSON.parse((await detect()).stdout)[0].faces).toHaveLength(3);
  expect(imagesBelow(odd)).toEqual(['été/Müller.jpg']);
  writeFileSync(latin1('\xe9t\xe9/M\xe4ller.jpg'), sample(1));
  expect((await detect()).stderr).toContain('The names of 2 files are no UTF-8 and read alike');
});

describe('facematch embed', () => {
  const embed = (line: string) => facematch(`embed ${line}`, folder);

  test('prints a line for each face, with the embedding of the image', async () => {
    const { code, stdout, stderr } = await embed('--mode fast 1.jpg blank.png notes.jpg 2.jpg');
    const noFace = 'warning: blank.png: no face from 14 px on';
    expect({ code, stderr }).toEqual({ code: 1, stderr: `${noFace}\n${noImage}\n` });
    const lines = stdout.trimEnd().split('\n');
    const faces = lines.map((line) => JSON.parse(line));
    const known = loadPack(pack, manifest).analyse(pack, sample(1), analyseOptions);
    if (!known.ok) throw new Error(known.code);
    const { embedding } = known.image.faces[0]!;
    expect(faces.map(({ file, index }) => `${file} ${index}`)).toEqual([
      ...['1.jpg 0', '1.jpg 1', '1.jpg 2'],
      ...['2.jpg 0', '2.jpg 1', '2.jpg 2'],
    ]);
    expect(faces[0]).toMatchObject({
      pack: 'default',
      version: expect.stringMatching(/^\d/),
      accuracy_mode: 'fast',
      smallest_face: 72,
      warnings: [],
      box: expect.any(Object),
      embedding: Buffer.from(embedding.buffer, embedding.byteOffset, embedding.byteLength).toString('base64'),
    });
  });

  test('writes a new file for its owner alone, and overwrites none', async () => {
    const out = join(folder, 'faces.jsonl');
    expect(await embed(`1.jpg --out ${out}`)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(statSync(out).mode & 0o777).toBe(0o600);
    const text = readFileSync(out, 'utf8');
    expect(text.trimEnd().split('\n')).toHaveLength(3);
    expectFailure(await embed(`1.jpg --out ${out}`), 1, 'EEXIST');
    expect(readFileSync(out, 'utf8')).toBe(text);
  });
});
