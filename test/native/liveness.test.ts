import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import type { AnalyseOptions } from '../../src/engine/addon.ts';
import { loadPack } from '../../src/engine/load-addon.ts';
import { readDraft, verifyPack } from '../../src/engine/manifest.ts';
import { livenessNet, livePack, liveSide, type Weights } from '../fixtures/liveness.ts';
import { analyseOptions, sample } from '../fixtures/pictures.ts';
import { newFolder } from '../support/folder.ts';

/** Live scores, against the crop, the softmax and the mean of the nets' own code written down here. */

const folder = newFolder();
const asked = { ...analyseOptions, detect_presentation_attack: true };

const first: Weights = [
  [0.01, 0, 0],
  [0, 0.002, 0.01],
  [0.004, 0.003, 0],
];
const second: Weights = [
  [0, 0.01, 0],
  [0.015, 0, 0],
  [0, 0, 0.008],
];
const nets = [
  { net: livenessNet(first), weights: first, scale: 2.7 },
  { net: livenessNet(second), weights: second, scale: 4 },
];
const both = livePack(folder, nets);

interface Pixels {
  data: Buffer;
  width: number;
  height: number;
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Both ends are within the crop. */
function cropOf(box: Box, { width: w, height: h }: Pixels, wanted: number) {
  const scale = Math.min((h - 1) / box.height, (w - 1) / box.width, wanted);
  const [wide, high] = [box.width * scale, box.height * scale];
  let left = box.x + box.width / 2 - wide / 2;
  let top = box.y + box.height / 2 - high / 2;
  left -= Math.min(left, 0) + Math.max(left + wide - (w - 1), 0);
  top -= Math.min(top, 0) + Math.max(top + high - (h - 1), 0);
  const whole = [left, top, left + wide, top + high].map((value) => Math.floor(value + 1e-3));
  return { scale, left: whole[0]!, top: whole[1]!, right: whole[2]!, bottom: whole[3]! };
}

/** Means of blue, green and red of the crop at 80×80, bilinear. */
function coloursOf({ data, width }: Pixels, { left, top, right, bottom }: ReturnType<typeof cropOf>) {
  const taps = (from: number, to: number) =>
    Array.from({ length: liveSide }, (_, i) => {
      const at = Math.max(0, Math.min((i + 0.5) * ((to - from + 1) / liveSide) - 0.5, to - from));
      const low = Math.floor(at);
      return { low: from + low, high: Math.min(from + low + 1, to), share: at - low };
    });
  return [2, 1, 0].map((channel) => {
    const at = (x: number, y: number) => data[(y * width + x) * 3 + channel]!;
    let sum = 0;
    for (const y of taps(top, bottom)) {
      for (const x of taps(left, right)) {
        const upper = at(x.low, y.low) * (1 - x.share) + at(x.high, y.low) * x.share;
        const lower = at(x.low, y.high) * (1 - x.share) + at(x.high, y.high) * x.share;
        sum += upper * (1 - y.share) + lower * y.share;
      }
    }
    return sum / liveSide ** 2;
  });
}

function liveScore(pixels: Pixels, box: Box, weights: Weights, scale: number): number {
  const colours = coloursOf(pixels, cropOf(box, pixels, scale));
  const logits = weights.map((row) => row.reduce((sum, weight, i) => sum + weight * colours[i]!, 0));
  const exponentials = logits.map(Math.exp);
  return exponentials[1]! / exponentials.reduce((sum, one) => sum + one);
}

function facesOf(pack: string, picture: Buffer, options: AnalyseOptions = asked) {
  const result = loadPack(pack, readDraft(pack)).analyse(pack, picture, options);
  if (!result.ok) throw new Error(JSON.stringify(result));
  return result.image.faces;
}

/** The face in the middle of the first sample. */
const its = { left: 822, top: 423, width: 217, height: 228 };

/** That face, with so many pixels around it. */
const around = (left: number, top: number, right: number, bottom: number) => ({
  picture: sharp(sample(1)).extract({
    left: its.left - left,
    top: its.top - top,
    width: its.width + left + right,
    height: its.height + top + bottom,
  }),
  middle: { x: left + its.width / 2, y: top + its.height / 2 },
});

describe('the live score', () => {
  test.each([
    ['a crop in the middle', around(500, 420, 500, 600), { left: false, right: false, limited: false }],
    [
      'a crop that is shifted from the left',
      around(60, 60, 800, 600),
      { left: true, right: false, limited: false },
    ],
    [
      'one that is shifted from the right',
      around(700, 423, 60, 60),
      { left: false, right: true, limited: false },
    ],
    ['as much as a close picture has', around(90, 80, 90, 80), { left: false, right: false, limited: true }],
  ])('is of %s', async (_, { picture, middle }, where) => {
    const file = await picture.png().toBuffer();
    const { data, info } = await sharp(file).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    const pixels = { data, width: info.width, height: info.height };
    const faceOf = (pack: string) =>
      facesOf(pack, file).find(
        ({ box: { x, y, width, height } }) =>
          x < middle.x && x + width > middle.x && y < middle.y && y + height > middle.y,
      )!;
    const { box, live_score } = faceOf(both);
    const crop = cropOf(box, pixels, 2.7);
    const half = (box.width * crop.scale) / 2;
    expect({
      left: box.x + box.width / 2 - half < -1,
      right: box.x + box.width / 2 + half > pixels.width,
      limited: crop.scale < 2.7,
    }).toEqual(where);
    const scores = nets.map(({ weights, scale }) => liveScore(pixels, box, weights, scale));
    expect(live_score).toBeCloseTo((scores[0]! + scores[1]!) / 2, 2);
    for (const [index, one] of nets.entries()) {
      const alone = faceOf(livePack(folder, [one])).live_score!;
      expect(Math.abs(alone - scores[index]!)).toBeLessThan(0.004);
      expect(scores[index]).toBeGreaterThan(0.05);
    }
  });

  test('of a large photo is that of its full pixels, and so is the box', async () => {
    const file = await sharp(sample(1)).resize({ width: 5760 }).jpeg({ quality: 95 }).toBuffer();
    const { data, info } = await sharp(file).raw().toBuffer({ resolveWithObject: true });
    const faces = facesOf(both, file);
    expect(faces).toHaveLength(3);
    for (const { box, live_score } of faces) {
      const pixels = { data, width: info.width, height: info.height };
      const scores = nets.map(({ weights, scale }) => liveScore(pixels, box, weights, scale));
      expect(live_score).toBeCloseTo((scores[0]! + scores[1]!) / 2, 2);
    }
  });

  test('is of every face, and changes nothing else of it', () => {
    const faces = facesOf(both, sample(2));
    expect(faces.map(({ live_score }) => typeof live_score)).toEqual(['number', 'number', 'number']);
    expect(faces.map(({ live_score: _, ...face }) => face)).toEqual(facesOf(both, sample(2), analyseOptions));
  });
});

describe('a pack whose liveness net has another shape is refused at load', () => {
  test.each([
    ['two classes', livenessNet(first.slice(0, 2)), 'answers with 2 numbers instead of three'],
    ['another side', livenessNet(first, 64), 'live-1.onnx'],
    ['no net', Buffer.from('no net'), 'live-1.onnx cannot be used'],
  ])('%s', async (_, net, message) => {
    const pack = livePack(folder, [{ net, scale: 2.7 }]);
    const draft = readDraft(pack);
    await verifyPack(pack, draft);
    expect(() => loadPack(pack, draft)).toThrow(message);
  });

  test('and one whose file is another than the manifest says, before it is loaded', async () => {
    const pack = livePack(folder, nets);
    const draft = readDraft(pack);
    draft.liveness!.nets[1]!.sha256 = '0'.repeat(64);
    await expect(verifyPack(pack, draft)).rejects.toThrow(join(pack, 'live-2.onnx'));
  });
});
