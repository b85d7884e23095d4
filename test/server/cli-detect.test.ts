import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { blank, sample, smallSample } from '../fixtures/images.ts';
import { newFolder } from '../support/folder.ts';
import { without } from '../support/without.mjs';
import { expectFailure, facematch } from './support/cli.ts';
import { type Json, match, paths } from './support/client.ts';
import { TestServer } from './support/server.ts';

let folder: string;
let turned: Buffer;

beforeAll(async () => {
  folder = newFolder();
  const put = (name: string, bytes: Uint8Array) => writeFileSync(join(folder, name), bytes);
  const small = await smallSample(1, 900);
  // Lying on its side in the file; its EXIF orientation says so.
  turned = await sharp(small).rotate(270).withMetadata({ orientation: 6 }).jpeg().toBuffer();
  put('group.jpg', sample(1));
  put('turned.jpg', turned);
  put('small.png', small);
  put('misnamed.svg', small);
  put('blank.webp', await blank(80, 60, 'webp'));
  put('animation.gif', await blank(80, 60, 'gif'));
  put('damaged.jpg', sample(1).subarray(0, 2000));
  put('notes.jpg', Buffer.from('no image'));
  mkdirSync(join(folder, 'photos'));
  copyFileSync(join(folder, 'group.jpg'), join(folder, 'photos/group.jpg'));
});

const detect = (line: string) => facematch(`detect ${line}`, folder);

describe('facematch detect', () => {
  test('shows a line for each image and each face', async () => {
    const { code, stdout, stderr } = await detect('group.jpg blank.webp');
    const lines = stdout.trimEnd().split('\n');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(lines).toHaveLength(5);
    expect(lines[0]).toBe('group.jpg  1920×1280 jpeg, 3 faces from 72 px on');
    expect(lines[1]).toMatch(
      /^ {3}0 {2}\d+×\d+ at \(\d+, \d+\) +score \d\.\d{3} {2}primary +human +-?\d+\.\d +covered +-?\d+\.\d +yaw +-?\d+° pitch +-?\d+° roll +-?\d+° {2}sharpness \d\.\d\d brightness \d\.\d\d face \d+ px stretch \d\.\d\d$/,
    );
    expect(lines[4]).toBe('blank.webp  80×60 webp, no face from 14 px on');
  });

  test('with --json prints what the server answers', async () => {
    const server = await TestServer.forTest();
    for (const [options, fields] of [
      ['', {}],
      ['--mode fast --min-det-score 0.2 ', { accuracy_mode: 'fast', min_det_score: '0.2' }],
      ['--no-fallback ', { use_heuristic_fallback: 'false' }],
    ] as const) {
      const { code, stdout } = await detect(`--json ${options}turned.jpg`);
      const pair = { image1: turned, image2: sample(1), ...fields };
      const { body } = await match(server, pair, { path: paths.advanced });
      const image = without(body.image1, 'face_index');
      expect([code, JSON.parse(stdout)]).toEqual([0, [{ file: 'turned.jpg', ...image, warnings: [] }]]);
      expect(image.orientation).toBe(6);
      expect(image.faces.length).toBeGreaterThan(0);
    }
  });

  test('with --json lists every image in order, refused ones with the code', async () => {
    const { code, stdout } = await detect('--json damaged.jpg blank.webp missing.jpg group.jpg');
    const pictures: Json[] = JSON.parse(stdout);
    expect(code).toBe(1);
    expect(pictures.map(({ file, error, faces }) => [file, error?.code ?? faces.length])).toEqual([
      ['damaged.jpg', 'image_decode_failed'],
      ['blank.webp', 0],
      ['missing.jpg', 'ENOENT'],
      ['group.jpg', 3],
    ]);
  });

  test('--draw writes the image upright, with the faces on it', async () => {
    const { code, stdout } = await detect('turned.jpg --draw drawn.svg --json');
    expect(code).toBe(0);
    const [{ drawing, faces }] = JSON.parse(stdout);
    expect(drawing).toBe('drawn.svg');
    const svg = readFileSync(join(folder, 'drawn.svg'), 'utf8');
    // The file itself, not a copy that was encoded anew.
    expect(svg).toContain(`"data:image/jpeg;base64,${turned.toString('base64')}"`);
    // That this shows it upright is seen in a browser: test/slow/browser/intake.test.ts.
    expect(svg).toMatch(/^<svg [^>]*width="900" height="600"/);
    expect(svg).toContain('<image width="600" height="900"');
    expect(svg).toContain('transform="matrix(0 1 -1 0 900 0)"');
    // The box is in the green of `primary`.
    const drawn = svg.matchAll(/"#3cdc5a"[^>]*><rect x="(.+?)" y="(.+?)" width="(.+?)" height="(.+?)"/g);
    expect([...drawn].map(([, ...box]) => box.map(Number))).toEqual(
      faces.map(({ box: { x, y, width, height } }: Json) =>
        [x, y, width, height].map((pixels) => expect.closeTo(pixels, 0)),
      ),
    );
  });

  test('--draw with several images makes a folder, and gives each drawing a name of its own', async () => {
    const { code } = await detect('group.jpg photos/group.jpg missing.jpg small.png --draw all/drawn');
    expect(code).toBe(1);
    expect(readdirSync(join(folder, 'all/drawn')).sort()).toEqual(['group-2.svg', 'group.svg', 'small.svg']);
  });

  test.each<[line: string, code: number, message: string]>([
    ['--json', 2, "missing required argument 'image'"],
    ['a.jpg --mode best', 2, 'Allowed choices are fast, balance'],
    ['a.jpg --min-det-score 1.1', 2, 'Expected a number from 0 to 1'],
    ['missing.jpg', 1, 'The image missing.jpg cannot be read (ENOENT).'],
    ['notes.jpg', 1, 'Send notes.jpg as JPEG, PNG or WebP; this one is text, "no image".'],
    ['group.jpg --draw nowhere/out.svg', 1, 'there is no folder nowhere'],
    ['group.jpg --draw out.png', 1, '--draw writes SVG: name it .svg, not out.png'],
    ['misnamed.svg --draw .', 1, 'would overwrite the image misnamed.svg'],
  ])('%s exits with %i', async (line, code, message) => {
    expectFailure(await detect(line), code, message);
  });

  test('shows no control character of a name', async () => {
    copyFileSync(join(folder, 'blank.webp'), join(folder, 'red\u001b[31m.webp'));
    const { stdout, stderr } = await detect('red\u001b[31m.webp none\u0007.jpg');
    expect(stdout).toBe('red\ufffd[31m.webp  80×60 webp, no face from 14 px on\n');
    expect(stderr).toContain('none\ufffd.jpg cannot be read');
  });
});
