// Decodes, resizes and warps with OpenCV, called from JavaScript. Every step creates a Mat.
import { Log } from '@u4/opencv-build';
import { apply, inverse } from '../lib/geometry.mjs';

// The package reads these settings on import. Without the first, it searches for an OpenCV that it compiled itself.
process.env.OPENCV4NODEJS_DISABLE_AUTOBUILD = '1';
// Disables the package's memory tracking, because every Mat is released explicitly. Tracking costs a lock and a call
// to V8 for each Mat. It also runs after V8 has shut down if another library in the process uses OpenCV.
process.env.OPENCV4NODEJS_DISABLE_EXTERNAL_MEM_TRACKING = '1';
Log.silence = true;

const { cv } = await import('@u4/opencv4nodejs');

// One thread, because the cluster has one process per CPU.
cv.setNumThreads(1);

/** Minimum longer side after decoding, in pixels: twice the width of the detector's input. */
const min_side = 640;
const reduced = [
  [8, cv.IMREAD_REDUCED_COLOR_8],
  [4, cv.IMREAD_REDUCED_COLOR_4],
  [2, cv.IMREAD_REDUCED_COLOR_2],
];

/** Returns the longer side of a JPEG, from its start-of-frame marker (ITU T.81, B.2.2); 0 for other files. */
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

/** Resolves to an upright BGR image. Decodes a JPEG at 1/2, 1/4 or 1/8 if that leaves enough pixels. */
export async function decode(bytes) {
  const longer = longerSide(bytes);
  const [, flag] = reduced.find(([divisor]) => longer / divisor >= min_side) ?? [1, cv.IMREAD_COLOR];
  const mat = await cv.imdecodeAsync(bytes, flag);
  // Keeps a reference to the bytes, because the decoding thread does not protect them from the garbage collector.
  return { mat, width: mat.cols, height: mat.rows, bytes };
}

/** Releases the pixels explicitly, because the garbage collector does not know how much memory they use. */
export function release({ mat }) {
  mat.release();
}

/** Writes a BGR Mat into three planes with rows of `width`, in the order BGR or RGB (`reversed`). Releases the Mat. */
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
  // The scales of the two axes differ slightly, because sizes are rounded to whole pixels.
  const scales = [columns / mat.cols, rows / mat.rows];
  return { planes: fill(small, black, width, { mean, scale: unit }, true), scales };
}

/**
 * Returns the part of the image that a crop covers, with a margin, as { area, left, top }. `area` shares the pixels.
 */
function region(mat, transform, size, margin) {
  const back = inverse(transform);
  const corners = [0, 1, 2, 3].map((i) => apply(back, [i & 1 ? size : 0, i & 2 ? size : 0]));
  const span = (axis, length) => {
    const places = corners.map((corner) => corner[axis]);
    const first = Math.min(Math.max(Math.floor(Math.min(...places)) - margin, 0), length - 1);
    return [first, Math.min(Math.max(Math.ceil(Math.max(...places)) + margin, first + 1), length)];
  };
  const [[left, right], [top, bottom]] = [span(0, mat.cols), span(1, mat.rows)];
  return { area: mat.getRegion(new cv.Rect(left, top, right - left, bottom - top)), left, top };
}

/** Shrinks a Mat to the means of blocks of `shrink` × `shrink` pixels. */
function blocks(mat, shrink) {
  const [columns, rows] = [Math.floor(mat.cols / shrink), Math.floor(mat.rows / shrink)];
  const whole = mat.getRegion(new cv.Rect(0, 0, columns * shrink, rows * shrink));
  const small = whole.resize(rows, columns, 0, 0, cv.INTER_AREA);
  whole.release();
  return small;
}

/**
 * Warps the image to a Mat of `size` × `size`. If the scale is 1/2 or less, first averages blocks of pixels, because
 * bilinear sampling alone would skip most pixels.
 */
function warp({ mat }, transform, size) {
  const wanted = Math.max(1, Math.floor(1 / Math.hypot(transform.a, transform.b)));
  const { area, left, top } = region(mat, transform, size, wanted + 1);
  const shrink = Math.min(wanted, area.cols, area.rows);
  const from = shrink < 2 ? area : blocks(area, shrink);
  // Pixel coordinates are pixel centres, so shrinking shifts them.
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

/** Returns planes in the order BGR, because the embeddings then separate people slightly better. */
export function colourCrop(image, transform, size, normalisation) {
  const planes = new Float32Array(3 * size * size);
  return fill(warp(image, transform, size), planes, size, normalisation, false);
}
