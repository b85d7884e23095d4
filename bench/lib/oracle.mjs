// The native pipeline's steps from a picture's bytes to the embedding of its largest face, once more: in JavaScript, with
// opencv4nodejs decoding, resizing and warping.
import { overlap } from '../contenders/nets/detector.mjs';
import { embed } from '../contenders/nets/embedder.mjs';
import { fivePoints, leanOf } from '../contenders/nets/landmarks.mjs';
import { apply, inverse, squareCrop } from '../contenders/nets/similarity.mjs';
import * as pixels from '../contenders/opencv4nodejs/pixels.mjs';
import { detect } from './oracle-detector.mjs';

/** Of the longer side: what a JPEG is decoded to for the detector, half as much again as its frame. */
const detector_side = 480;
/** Longer side of a face's box for which decoding stops: 1.2 pixels for each of its chip. */
const face_side = 1.2 * 112;
/** A close-up shows twice the longer side of the box, and a face that leans more than so many degrees upright. */
const closeups = { size: 240, share: 2, most_lean: 20, least_score: 0.9, least_overlap: 0.3 };

const longer = ({ width, height }) => Math.max(width, height);
const centre = ({ x, y, width, height }) => [x + width / 2, y + height / 2];

function square(box) {
  const [side, [x, y]] = [longer(box), centre(box)];
  return { x: x - side / 2, y: y - side / 2, width: side, height: side };
}

/** The picture, decoded no finer than its faces need, and the largest of them; `face` is undefined where there is none. */
async function look(nets, bytes, side) {
  let picture = await pixels.decode(bytes, side);
  let faces = await detect(nets.detector, picture);
  const zoom = Math.max(1, ...faces.map((face) => face_side / longer(face)));
  if (zoom > 1) {
    const finer = await pixels.decode(bytes, Math.round(longer(picture) * zoom));
    const times = finer.width / picture.width;
    const scaled = ({ x, y, width, height, score }) => ({
      x: x * times,
      y: y * times,
      width: width * times,
      height: height * times,
      score,
    });
    faces = faces.map((face) => ({ ...scaled(face), ties: face.ties.map(scaled) }));
    pixels.release(picture);
    picture = finer;
  }
  const weight = ({ width, height, score }) => width * height * score;
  const [face] = faces.sort((a, b) => weight(b) - weight(a));
  return { picture, face };
}

/** The box of the face after the transform, as if it had been turned upright about its centre. */
function moved(box, transform) {
  const [x, y] = apply(transform, centre(box));
  const scale = Math.hypot(transform.a, transform.b);
  const [straight, across] = [transform.a ** 2 / scale, transform.b ** 2 / scale];
  const width = box.width * straight + box.height * across;
  const height = box.width * across + box.height * straight;
  return { x: x - width / 2, y: y - height / 2, width, height, score: box.score };
}

/** What detector and landmarks see in one close-up, in pixels of the picture; undefined when it is not the face. */
async function closer(nets, picture, face, lean) {
  const { size, share, least_score, least_overlap } = closeups;
  const cut = squareCrop(centre(face), share * longer(face), lean, size);
  const back = inverse(cut);
  const view = { mat: pixels.warp(picture, cut, size, pixels.meanColour), width: size, height: size };
  try {
    const seen = (await detect(nets.detector, view))
      .filter(({ score }) => score >= least_score)
      .map((box) => moved(box, back))
      .find((box) => overlap(square(box), square(face)) >= least_overlap);
    if (seen === undefined) return undefined;
    const points = await fivePoints(nets.landmarks, pixels, view, moved(seen, cut), 'balance');
    return { face: seen, lean: leanOf(points), points: points.map((point) => apply(back, point)) };
  } finally {
    pixels.release(view);
  }
}

async function closerPoints(nets, picture, face) {
  const first = await closer(nets, picture, face, 0);
  if (first === undefined || Math.abs(first.lean) <= closeups.most_lean) return first?.points;
  return (await closer(nets, picture, first.face, first.lean))?.points;
}

/**
 * Answers a function (bytes, mode, how) → the embedding of the picture's largest face, or undefined where none is seen.
 * `how.closeup` takes the landmarks from a close-up, as ours does where they do not hold still at the first look;
 * `how.tied` takes the box that scores the same as the best one but for rounding, if there is one;
 * `how.whole` decodes in full, as ours does not.
 */
export function oracle(nets) {
  return async (bytes, mode, { whole = false, closeup = false, tied = false } = {}) => {
    const { picture, face: best } = await look(nets, bytes, whole ? Number.POSITIVE_INFINITY : detector_side);
    const face = tied ? best?.ties[0] : best;
    try {
      if (face === undefined) return undefined;
      const points = closeup
        ? await closerPoints(nets, picture, face)
        : await fivePoints(nets.landmarks, pixels, picture, face, mode);
      return points && (await embed(nets.embedder, pixels, picture, points, mode));
    } finally {
      pixels.release(picture);
    }
  };
}
