/**
 * The priors of Ultra-Light (RFB and slim), as its author trained it: in each cell of four grids two or three squares,
 * their sides in pixels. Cells share the input evenly, also where its side is no multiple of the stride.
 * `native/core/detect_rfb.cpp` says the same once more.
 */
const grids = [
  { stride: 8, sides: [10, 16, 24] },
  { stride: 16, sides: [32, 48] },
  { stride: 32, sides: [64, 96] },
  { stride: 64, sides: [128, 192, 256] },
] as const;

export const centreVariance = 0.1;
export const sizeVariance = 0.2;

export interface Priors {
  /** x, y of each prior box's middle, in shares of the input. */
  centres: Float32Array;
  /** Width and height of each, never more than the whole input. */
  sizes: Float32Array;
}

export function priorsFor(width: number, height: number): Priors {
  const centres: number[] = [];
  const sizes: number[] = [];
  for (const { stride, sides } of grids) {
    const [columns, rows] = [Math.ceil(width / stride), Math.ceil(height / stride)];
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        for (const side of sides) {
          centres.push((column + 0.5) / columns, (row + 0.5) / rows);
          sizes.push(Math.min(1, side / width), Math.min(1, side / height));
        }
      }
    }
  }
  return { centres: Float32Array.from(centres), sizes: Float32Array.from(sizes) };
}

/**
 * Corners (left, top, right, bottom in shares of the input) out of a net's offsets from its priors (1×n×4). With l for
 * the offsets, p for the prior and v for the variances: centre = l[0..1]·v₁·p.size + p.centre, size = exp(l[2..3]·v₂)·p.size.
 */
export function cornersOf(offsets: Float32Array, width: number, height: number): Float32Array {
  const { centres, sizes } = priorsFor(width, height);
  const corners = new Float32Array(offsets.length);
  for (let i = 0; i < offsets.length; i += 4) {
    for (const axis of [0, 1]) {
      const prior = (i >> 2) * 2 + axis;
      const centre = offsets[i + axis]! * centreVariance * sizes[prior]! + centres[prior]!;
      const half = (Math.exp(offsets[i + 2 + axis]! * sizeVariance) * sizes[prior]!) / 2;
      corners[i + axis] = centre - half;
      corners[i + 2 + axis] = centre + half;
    }
  }
  return corners;
}
