// Decoding, resizing and warping by OpenCV, called from JavaScript: every step makes a Mat.
import cv from '@u4/opencv4nodejs';

/** Of the longer side: large enough for the chip of any face that the detector sees. */
const least_side = 640;
const reduced = [
  [8, cv.IMREAD_REDUCED_COLOR_8],
  [4, cv.IMREAD_REDUCED_COLOR_4],
  [2, cv.IMREAD_REDUCED_COLOR_2],
];

/** Longer side of a JPEG, out of its start-of-frame marker (ITU T.81, B.2.2); 0 for what is none. */
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

/** BGR, the right way up. A large JPEG is decoded at a half, a quarter or an eighth unless `whole` is asked for. */
export async function decode(bytes, { whole = false } = {}) {
  const side = whole ? 0 : longerSide(bytes);
  const [, flag] = reduced.find(([divisor]) => side / divisor >= least_side) ?? [1, cv.IMREAD_COLOR];
  const mat = cv.imdecode(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), flag);
  return { mat, width: mat.cols, height: mat.rows };
}

/** Before a garbage collector comes by: it sees the small object and not the pixels behind it. */
export function release({ mat }) {
  mat.release();
}

/** Writes an interleaved BGR Mat into planes whose rows are `width` long, in the order of `channels`. */
function fill(mat, planes, width, plane, channels, { mean, scale }) {
  const data = mat.getData();
  const [rows, columns] = [mat.rows, mat.cols];
  channels.forEach((channel, index) => {
    for (let y = 0; y < rows; y++) {
      let to = index * plane + y * width;
      let from = y * columns * channels.length + channel;
      for (let x = 0; x < columns; x++, to++, from += channels.length)
        planes[to] = (data[from] - mean) * scale;
    }
  });
  mat.release();
  return planes;
}

export function letterbox({ mat }, width, height, { mean, scale: unit }) {
  const scale = Math.min(width / mat.cols, height / mat.rows);
  const [columns, rows] = [Math.round(mat.cols * scale), Math.round(mat.rows * scale)];
  const small = mat.resize(rows, columns, 0, 0, scale < 1 ? cv.INTER_AREA : cv.INTER_LINEAR);
  const plane = width * height;
  const planes = new Float32Array(3 * plane).fill(-mean * unit);
  return { planes: fill(small, planes, width, plane, [2, 1, 0], { mean, scale: unit }), scale };
}

/** A face that is shrunk twice or more is averaged first: bilinear reading alone would skip most of its pixels. */
function warp(mat, { a, b, tx, ty }, size) {
  const shrink = Math.floor(1 / Math.hypot(a, b));
  const from =
    shrink < 2
      ? mat
      : mat.resize(Math.floor(mat.rows / shrink), Math.floor(mat.cols / shrink), 0, 0, cv.INTER_AREA);
  const [kx, ky] = [mat.cols / from.cols, mat.rows / from.rows];
  // From pixel centre to pixel centre of the shrunken picture.
  const [ox, oy] = [(kx - 1) / 2, (ky - 1) / 2];
  const rows = [
    [a * kx, -b * ky, a * ox - b * oy + tx],
    [b * kx, a * ky, b * ox + a * oy + ty],
  ];
  const matrix = new cv.Mat(rows, cv.CV_64F);
  const out = from.warpAffine(matrix, new cv.Size(size, size), cv.INTER_LINEAR, cv.BORDER_CONSTANT);
  matrix.release();
  if (from !== mat) from.release();
  return out;
}

export function greyCrop({ mat }, transform, size, normalisation) {
  const crop = warp(mat, transform, size);
  const grey = crop.cvtColor(cv.COLOR_BGR2GRAY);
  crop.release();
  return fill(grey, new Float32Array(size * size), size, size * size, [0], normalisation);
}

/** Planes in the order blue, green, red, as OpenCV has them. */
export function colourCrop({ mat }, transform, size, normalisation) {
  const planes = new Float32Array(3 * size * size);
  return fill(warp(mat, transform, size), planes, size, size * size, [0, 1, 2], normalisation);
}
