import { expect, test } from 'vitest';
import { drawFaces } from '../../src/cli/drawing.ts';
import type { Face, FoundBy, ImageReport } from '../../src/engine/addon.ts';

// That images are upright in every orientation is seen in a browser: test/slow/browser/intake.test.ts.

const faceAt = (x: number, y: number, side: number, found_by: FoundBy = 'primary') =>
  ({
    index: 0,
    box: { x, y, width: side, height: side },
    landmarks: { right_eye: [x + 5, y + 6], left_eye: [x + 9, y + 6] },
    detection_score: 0.98,
    found_by,
  }) as unknown as Face;

function draw(faces: Face[], width = 400, height = 300): string {
  const image: ImageReport = { width, height, format: 'png', orientation: 1, smallest_face: 9, faces };
  return drawFaces(Buffer.from('a file'), image);
}

const numbers = (svg: string, tag: RegExp, names: string[]) =>
  [...svg.matchAll(tag)].map(([text]) =>
    names.map((name) => Number(text.match(new RegExp(`${name}="([^"]+)"`))![1])),
  );

test('each landmark is marked at the middle of its pixel', () => {
  const places = numbers(draw([faceAt(100, 80, 60)]), /<circle[^>]*>/g, ['cx', 'cy']);
  expect(places.slice(-2)).toEqual([
    [105.5, 86.5],
    [109.5, 86.5],
  ]);
});

test('the colour of the box shows how the face was found', () => {
  const steps: FoundBy[] = ['primary', 'tiled', 'rotated', 'padded', 'enhanced'];
  const colours = steps.map((step) => draw([faceAt(10, 10, 50, step)]).match(/stroke="(#\w{6})"/)?.[1]);
  expect(new Set(colours).size).toBe(steps.length);
});

test('lines and letters grow with the image', () => {
  const widths = [draw([faceAt(9, 9, 50)], 1280, 960), draw([faceAt(9, 9, 50)], 5120, 3840)].map((svg) => [
    ...numbers(svg, /<g [^>]*stroke="#\w{6}"[^>]*>/g, ['stroke-width'])[0]!,
    ...numbers(svg, /<text[^>]*>/g, ['font-size'])[0]!,
  ]);
  expect(widths).toEqual([
    [2, 24],
    [8, 96],
  ]);
});

test.each([
  [0, 0, 60],
  [340, 0, 60],
  [340, 240, 60],
  [150, 120, 80],
  [-20, -10, 430],
])('a label stays inside the image with a face at %d, %d of %d pixels', (x, y, side) => {
  const svg = draw([faceAt(x, y, side)]);
  const [label] = numbers(svg, /<rect[^>]*>(?=<text)/g, ['x', 'y', 'width', 'height']);
  const [left, top, width, height] = label!;
  expect(Math.min(left!, top!)).toBeGreaterThanOrEqual(0);
  expect(left! + width!).toBeLessThanOrEqual(400);
  expect(top! + height!).toBeLessThanOrEqual(300);
  expect(svg).toContain('>0 0.980 primary</text>');
});
