import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { imagesBelow } from '../../../lab/people.ts';
import { loadPack } from '../../../src/engine/load-addon.ts';
import { analyseOptions, blank, manifest, pack, sample, smallSample } from '../../fixtures/images.ts';
import { execute, expectFailure, facematch, facematchInHost, program } from '../../server/support/cli.ts';
import { type Json, paths } from '../../server/support/client.ts';
import { TestServer } from '../../server/support/server.ts';
import { newFolder } from '../../support/folder.ts';
import { without } from '../../support/without.mjs';

const small = await smallSample(1, 900);
/** A photo that is stored rotated, with the matching EXIF orientation. */
const turned = await sharp(small).rotate(270).withMetadata({ orientation: 6 }).jpeg().toBuffer();
const files = {
  '1.jpg': sample(1),
  '2.jpg': sample(2),
  '3.jpg': sample(3),
  'photos/1.jpg': sample(1),
  'turned.jpg': turned,
  'small.png': small,
  'misnamed.svg': small,
  'blank.webp': await blank(80, 60, 'webp'),
  'damaged.jpg': sample(1).subarray(0, 2000),
  'notes.jpg': 'no image',
};
const folder = newFolder();
mkdirSync(join(folder, 'photos'));
for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);

const noImage =
  'error: Send notes.jpg as JPEG, PNG or WebP. It is text, "no image". To send an image, read the file as bytes, and send the bytes.';

describe('facematch match with several candidates', () => {
  const match = (line: string) => facematchInHost(`match --mode fast ${line}`, folder);

  test('lists the best match first, and reports candidates without a result as errors', async () => {
    const { code, stdout, stderr } = await match('1.jpg 2.jpg notes.jpg gone.jpg 3.jpg');
    expect(code).toBe(1);
    const [head, ...lines] = stdout.trimEnd().split('\n');
    expect(head).toBe('1 of 2 images match 1.jpg (threshold 70 %)');
    expect(lines).toEqual([
      expect.stringMatching(
        /^ +[\d.]+\s% {2}match {5}3\.jpg: fewer than 1 in [\d,]+ pairs .* \(beyond the measured range\)$/,
      ),
      expect.stringMatching(/^ +[\d.]+\s% {2}no match {2}2\.jpg: /),
      expect.stringMatching(/^ {2}warning {2}The face compared in 2\.jpg is turned /),
    ]);
    expect(stderr).toBe(`${noImage}\nerror: The image gone.jpg cannot be read (ENOENT).\n`);
  });

  test("prints the server's response with --json", async () => {
    const { code, stdout } = await match('--json --threshold 99.9 1.jpg 2.jpg 3.jpg');
    expect(code).toBe(0);
    const response = JSON.parse(stdout);
    expect(response).toMatchObject({ threshold_percent: 99.9, accuracy_mode: 'fast', matches: 0 });
    expect(response.results.map(({ index, filename, match }: Json) => [index, filename, match])).toEqual([
      [0, '2.jpg', false],
      [1, '3.jpg', false],
    ]);
  });

  test('fails when the reference has no face', async () => {
    expectFailure(
      await match('blank.webp 1.jpg 2.jpg'),
      1,
      'For blank.webp, send an image in which the face is clearly visible.',
    );
  });
});

describe('facematch match --person', () => {
  const match = (line: string) => facematchInHost(`match --mode fast --person ${line}`, folder);

  test('compares the photos of both people at once', async () => {
    const { code, stdout } = await match('1.jpg --with 3.jpg 3.jpg 1.jpg');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Match \([\d.]+\s% ≥ 70\s%\)\n {2}score {7}[\d.]+\s%/);
    expect(stdout).toMatch(/ {2}image1 {6}3\.jpg, [\d.]+ % with the others\n/);
    const json = JSON.parse((await match('--json 1.jpg 3.jpg 1.jpg')).stdout);
    expect(json).toMatchObject({ match: true, photos_compared: { image1: 1, image2: 2 } });
  });

  test('names a file that is not an image, and rejects too many photos', async () => {
    expectFailure(await match('1.jpg 3.jpg notes.jpg'), 1, 'Send notes.jpg');
    expectFailure(await match(`1.jpg ${'--with 3.jpg '.repeat(4)}3.jpg`), 1, 'At most 4 photos');
  });
});

test.each(['nope.jpg 2.jpg', '1.jpg nope.jpg', 'nope.jpg 2.jpg 3.jpg'])(
  'reports a file that facematch match cannot find: %s',
  async (files) => {
    const stderr = 'error: The image nope.jpg cannot be read (ENOENT).\n';
    expect(await facematchInHost(`match ${files}`, folder)).toEqual({ code: 1, stdout: '', stderr });
  },
);

test('opens a file with a Latin-1 name, and never another file', async () => {
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
  expect((await detect()).stderr).toContain('2 files have names that are not UTF-8 and decode to');
});

describe('facematch embed', () => {
  const embed = (line: string) => facematchInHost(`embed ${line}`, folder);

  test('prints a line with the embedding of each face', async () => {
    const { code, stdout, stderr } = await embed('--mode fast 1.jpg blank.webp notes.jpg 2.jpg');
    const noFace = 'warning: blank.webp: no face of at least 14 px';
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
      min_detectable_face_px: 72,
      warnings: [],
      box: expect.any(Object),
      embedding: Buffer.from(embedding.buffer, embedding.byteOffset, embedding.byteLength).toString('base64'),
    });
  });

  test('creates a file that only its owner can read, and overwrites none', async () => {
    const out = join(folder, 'faces.jsonl');
    expect(await facematch(`embed 1.jpg --out ${out}`, folder)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(statSync(out).mode & 0o777).toBe(0o600);
    const text = readFileSync(out, 'utf8');
    expect(text.trimEnd().split('\n')).toHaveLength(3);
    expectFailure(await embed(`1.jpg --out ${out}`), 1, 'EEXIST');
    expect(readFileSync(out, 'utf8')).toBe(text);
  });
});

describe('facematch detect', () => {
  const detect = (line: string) => facematchInHost(`detect ${line}`, folder);

  test('prints a line for each image and each face', async () => {
    const { code, stdout, stderr } = await detect('1.jpg blank.webp');
    const lines = stdout.trimEnd().split('\n');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(lines).toHaveLength(5);
    expect(lines[0]).toBe('1.jpg  1920×1280 jpeg, 3 faces of at least 72 px');
    expect(lines[1]).toMatch(
      /^ {3}0 {2}\d+×\d+ at \(\d+, \d+\) +score \d\.\d{3} {2}primary +human +-?\d+\.\d +covered +-?\d+\.\d +yaw +-?\d+° pitch +-?\d+° roll +-?\d+° {2}sharpness \d\.\d\d brightness \d\.\d\d face \d+ px stretch \d\.\d\d$/,
    );
    expect(lines[4]).toBe('blank.webp  80×60 webp, no face of at least 14 px');
  });

  test("prints the server's response with --json", async () => {
    const server = await TestServer.forTest();
    for (const [options, fields] of [
      ['', {}],
      ['--mode fast --min-det-score 0.2 ', { accuracy_mode: 'fast', min_det_score: '0.2' }],
      ['--no-fallback ', { use_heuristic_fallback: 'false' }],
    ] as const) {
      const { code, stdout } = await detect(`--json ${options}turned.jpg`);
      const pair = { image1: turned, image2: sample(1), ...fields };
      const { body } = await server.match(pair, { path: paths.advanced });
      const image = without(body.image1, 'face_index');
      expect([code, JSON.parse(stdout)]).toEqual([0, [{ file: 'turned.jpg', ...image, warnings: [] }]]);
      expect(image.orientation).toBe(6);
      expect(image.faces.length).toBeGreaterThan(0);
    }
  });

  test('lists every image in order with --json, rejected ones with their codes', async () => {
    const { code, stdout } = await detect('--json damaged.jpg blank.webp missing.jpg 1.jpg');
    const images: Json[] = JSON.parse(stdout);
    expect(code).toBe(1);
    expect(images.map(({ file, error, faces }) => [file, error?.code ?? faces.length])).toEqual([
      ['damaged.jpg', 'image_decode_failed'],
      ['blank.webp', 0],
      ['missing.jpg', 'ENOENT'],
      ['1.jpg', 3],
    ]);
  });

  test('writes the upright image with its faces (--draw)', async () => {
    const { code, stdout } = await detect('turned.jpg --draw drawn.svg --json');
    expect(code).toBe(0);
    const [{ drawing, faces }] = JSON.parse(stdout);
    expect(drawing).toBe('drawn.svg');
    const svg = readFileSync(join(folder, 'drawn.svg'), 'utf8');
    // The drawing contains the file itself, not a re-encoded copy.
    expect(svg).toContain(`"data:image/jpeg;base64,${turned.toString('base64')}"`);
    // test/slow/browser/intake.test.ts checks in a browser that the image is upright.
    expect(svg).toMatch(/^<svg [^>]*width="900" height="600"/);
    expect(svg).toContain('<image width="600" height="900"');
    expect(svg).toContain('transform="matrix(0 1 -1 0 900 0)"');
    // The box has the colour of `primary`.
    const drawn = svg.matchAll(/"#3cdc5a"[^>]*><rect x="(.+?)" y="(.+?)" width="(.+?)" height="(.+?)"/g);
    expect([...drawn].map(([, ...box]) => box.map(Number))).toEqual(
      faces.map(({ box: { x, y, width, height } }: Json) =>
        [x, y, width, height].map((pixels) => expect.closeTo(pixels, 0)),
      ),
    );
    // Each of the five landmarks has an outline.
    expect(svg.match(/<circle/g)).toHaveLength(10 * faces.length);
    expect(svg).toContain(`>0 ${faces[0].detection_score.toFixed(3)} primary</text>`);
  });

  test('creates a folder with a separate drawing for each of several images (--draw)', async () => {
    const { code } = await detect('1.jpg photos/1.jpg missing.jpg small.png --draw all/drawn');
    expect(code).toBe(1);
    expect(readdirSync(join(folder, 'all/drawn')).sort()).toEqual(['1-2.svg', '1.svg', 'small.svg']);
  });

  test.each<[line: string, code: number, message: string]>([
    ['--json', 2, "missing required argument 'image'"],
    ['a.jpg --mode best', 2, 'Allowed choices are fast, balance'],
    ['a.jpg --min-det-score 1.1', 2, 'Expected a number from 0 to 1'],
    ['missing.jpg', 1, 'The image missing.jpg cannot be read (ENOENT).'],
    ['notes.jpg', 1, 'Send notes.jpg as JPEG, PNG or WebP. It is text, "no image".'],
    ['1.jpg --draw nowhere/out.svg', 1, 'the folder nowhere does not exist'],
    ['1.jpg --draw out.png', 1, '--draw writes SVG: expected a file name that ends in .svg, not out.png'],
    ['misnamed.svg --draw .', 1, 'would overwrite the image misnamed.svg'],
  ])('fails for %s with exit code %i', async (line, code, message) => {
    expectFailure(await detect(line), code, message);
  });

  test('prints no control character of a name', async () => {
    copyFileSync(join(folder, 'blank.webp'), join(folder, 'red\u001b[31m.webp'));
    const { stdout, stderr } = await detect('red\u001b[31m.webp none\u0007.jpg');
    expect(stdout).toBe('red\ufffd[31m.webp  80×60 webp, no face of at least 14 px\n');
    expect(stderr).toContain('none\ufffd.jpg cannot be read');
  });
});

describe('a photo on standard input', () => {
  /** Runs a facematch command in a shell, with the output of `source` on standard input. */
  const pipe = (source: string, line: string) => {
    const command = `${source} | "${process.execPath}" "${program}" ${line}`;
    return execute('sh', ['-c', command], folder, { PATH: process.env.PATH });
  };

  test('is read once, even if - is named twice', async () => {
    const { code, stdout, stderr } = await pipe('cat small.png', 'match --json - -');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ match: true, image1: { width: 900 }, image2: { width: 900 } });
  });

  test('is named - in the output of detect, among other files', async () => {
    const { code, stdout } = await pipe('cat 1.jpg', 'detect - blank.webp');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^- {2}1920×1280 jpeg, 3 faces .*\nblank\.webp {2}80×60/ms);
  });

  test('fails if it is empty', async () => {
    expectFailure(await pipe('true', 'detect -'), 1, 'The image on standard input is empty.');
  });
});
