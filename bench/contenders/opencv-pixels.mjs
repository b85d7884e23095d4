// Decoding, resizing and warping by OpenCV, called from JavaScript: every step creates a Mat.
import { Log } from '@u4/opencv-build';
import { apply, inverse } from '../lib/geometry.mjs';

// Settings that the package reads when it is imported. Otherwise it searches for an OpenCV that it has compiled itself.
process.env.OPENCV4NODEJS_DISABLE_AUTOBUILD = '1';
// Every Mat is released explicitly. The package's own tracking costs a lock and a call to V8 for each Mat,
// and continues after the end of V8 if another library of the process uses OpenCV too.
process.env.OPENCV4NODEJS_DISABLE_EXTERNAL_MEM_TRACKING = '1';
Log.silence = true;

const { cv } = await import('@u4/opencv4nodejs');

// Processes provide the parallelism.
cv.setNumThreads(1);

/** Minimum longer side: large enough for the chip of any face that the detector finds. */
const least_side = 640;
const reduced = [
  [8, cv.IMREAD_REDUCED_COLOR_8],
  [4, cv.IMREAD_REDUCED_COLOR_4],
  [2, cv.IMREAD_REDUCED_COLOR_2],
];

/** Longer side of a JPEG, from its start-of-frame marker (ITU T.81, B.2.2); 0 for other files. */
function longerSide(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint16(0) !== 0xffd8) return 0;
  for (let at = 2; at + 9 < view.byteLength; at += 2 + view.getUint16(at + 2)) {
    const marker = view.getUint16(at);
    const isFrame = marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker);
    if (isFrame) return Math.max(view.getUint16(at + 5), view.getUint16(at + 7));
  }
  return 0;
}

/** Returns upright BGR. A JPEG is decoded at 1/2, 1/4 or 1/8 if that leaves enough pixels. */
export async function decode(bytes) {
  const longer = longerSide(bytes);
  const [, flag] = reduced.find(([divisor]) => longer / divisor >= least_side) ?? [1, cv.IMREAD_COLOR];
  const mat = await cv.imdecodeAsync(bytes, flag);
  // Keeps a reference to the bytes: decoding on another thread does not protect them from the garbage collector.
  return { mat, width: mat.cols, height: mat.rows, bytes };
}

/**
 * Released explicitly, because the garbage collector sees the small object and not the memory of its pixels.
 */
export function release({ mat }) {
  mat.release();
}

/** Writes a BGR Mat into three planes whose rows are `width` long, in that order or reversed, and releases it. */
function fill(mat, planes, width, { mean, scale }, reversed) {
  const data = mat.getData();
  const [rows, columns, plane] = [mat.rows, mat.cols, planes.length / 3];
  const [blue, red] = reversed ? [2 * plane, 0] : [0, 2 * plane];
  for (let row = 0, from = 0; row < rows; row++) {
    for (let column = 0, to = row * width; column < columns; column++, to++, from += 3) {
      planes[blue + to] = (data[from] - mean) * scale;
      planes[plane + to] = (data[from + 1] - mean) * scale;
      planes[red + to] = (data[from + 2] - mean) * scale;
    }
  }
  mat.release();
  return planes;
}

export function letterbox({ mat }, width, height, { mean, scale: unit }) {
  const scale = Math.min(width / mat.cols, height / mat.rows);
  const [columns, rows] = [Math.round(mat.cols * scale), Math.round(mat.rows * scale)];
  const small = mat.resize(rows, columns, 0, 0, scale < 1 ? cv.INTER_AREA : cv.INTER_LINEAR);
  const black = new Float32Array(3 * width * height).fill(-mean * unit);
  // Whole pixels, so the scales of the two sides differ slightly.
  const scales = [columns / mat.cols, rows / mat.rows];
  return { planes: fill(small, black, width, { mean, scale: unit }, true), scales };
}

/** The part of the image that a crop covers, with a margin so that nothing outside is blended in: a Mat that shares pixels. */
function region(mat, transform, size, rim) {
  const back = inverse(transform);
  const corners = [0, 1, 2, 3].map((i) => apply(back, [i & 1 ? size : 0, i & 2 ? size : 0]));
  const span = (axis, most) => {
    const places = corners.map((corner) => corner[axis]);
    const first = Math.min(Math.max(Math.floor(Math.min(...places)) - rim, 0), most - 1);
    return [first, Math.min(Math.max(Math.ceil(Math.max(...places)) + rim, first + 1), most)];
  };
  const [[left, right], [top, bottom]] = [span(0, mat.cols), span(1, mat.rows)];
  return { area: mat.getRegion(new cv.Rect(left, top, right - left, bottom - top)), left, top };
}

/** Means of whole blocks of `shrink` × `shrink` pixels. */
function blocks(mat, shrink) {
  const [columns, rows] = [Math.floor(mat.cols / shrink), Math.floor(mat.rows / shrink)];
  const whole = mat.getRegion(new cv.Rect(0, 0, columns * shrink, rows * shrink));
  const small = whole.resize(rows, columns, 0, 0, cv.INTER_AREA);
  whole.release();
  return small;
}

/**
 * Warps the image to a Mat of `size` × `size`. A face that shrinks by a factor of 2 or more is averaged first: bilinear
 * sampling alone would skip most of its pixels.
 */
function warp({ mat }, transform, size) {
  const wanted = Math.max(1, Math.floor(1 / Math.hypot(transform.a, transform.b)));
  const { area, left, top } = region(mat, transform, size, wanted + 1);
  const shrink = Math.min(wanted, area.cols, area.rows);
  const from = shrink < 2 ? area : blocks(area, shrink);
  // It goes from pixel centre to pixel centre of the shrunken image.
  const middle = (shrink - 1) / 2;
  const [x, y] = apply(transform, [left + middle, top + middle]);
  const [a, b] = [transform.a * shrink, transform.b * shrink];
  const rows = [
    [a, -b, x],
    [b, a, y],
  ];
  const matrix = new cv.Mat(rows, cv.CV_64F);
  const sides = new cv.Size(size, size);
  const out = from.warpAffine(matrix, sides, cv.INTER_LINEAR, cv.BORDER_CONSTANT, new cv.Vec3(0, 0, 0));
  matrix.release();
  if (from !== area) from.release();
  area.release();
  return out;
}

export function greyCrop(image, transform, size, { mean, scale }) {
  const crop = warp(image, transform, size);
  const grey = crop.cvtColor(cv.COLOR_BGR2GRAY);
  const data = grey.getData();
  const plane = new Float32Array(size * size);
  for (let i = 0; i < plane.length; i++) plane[i] = (data[i] - mean) * scale;
  crop.release();
  grey.release();
  return plane;
}

/** Planes in the order blue, green, red, with which the embeddings distinguish people slightly better. */
export function colourCrop(image, transform, size, normalisation) {
  const planes = new Float32Array(3 * size * size);
  return fill(warp(image, transform, size), planes, size, normalisation, false);
}
