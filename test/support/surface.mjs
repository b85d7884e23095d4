// Draws a photo of a face on a turned surface in front of a camera, such as a bent print or a simple model of a head.
// Only tests and measurements of the live check use this module.

/**
 * A surface maps a point of the photo to a point in space (z towards the camera). Points of the photo are measured from
 * the midpoint of the eyes, in distances between the eyes: x to the right, y down.
 */
export const surfaces = {
  flat: () => (x, y) => [x, y, 0],
  /** Paper on a cylinder with a vertical axis. `radius` is in distances between the eyes. */
  bentVertical: (radius) => (x, y) => [radius * Math.sin(x / radius), y, radius * (Math.cos(x / radius) - 1)],
  bentHorizontal: (radius) => (x, y) => [
    x,
    radius * Math.sin(y / radius),
    radius * (Math.cos(y / radius) - 1),
  ],
  /** An ellipsoid with a nose, whose tip is 45 mm in front of the outer eye corners if the eyes are 63 mm apart. */
  head: () => (x, y) => {
    const inside = Math.max(0.02, 1 - (x / 1.25) ** 2 - ((y - 0.35) / 1.95) ** 2);
    const skull = 1.5 * (Math.sqrt(inside) - 1);
    const nose = 0.38 * Math.exp(-((x / 0.2) ** 2) - ((y - 0.6) / (y < 0.6 ? 0.42 : 0.16)) ** 2);
    return [x, y, skull + nose];
  },
};

/** Extent of the surfaces from the midpoint of the eyes, in distances between the eyes. */
const reach = { left: -2.2, right: 2.2, top: -2.3, bottom: 3 };
const cells = 72;

/** Distance of the camera in distances between the eyes: half a metre if the eyes are 63 mm apart. */
const camera = 8;

/**
 * Draws `photo` (RGB: data, width, height) on a turned surface, into an image of `width` × `height`. `eyes`: positions
 * of the eyes in the photo ([right, left] of the person). `yaw`, `pitch`: angles in degrees with the API's signs (to
 * the person's own left, upwards). `scale`: pixels between the eyes. `shift`: offset of the eyes' midpoint in pixels.
 */
export function drawTurned(
  photo,
  eyes,
  surface,
  { yaw = 0, pitch = 0, scale, width, height, shift = [0, 0] },
) {
  const [[rx, ry], [lx, ly]] = eyes;
  const unit = Math.hypot(lx - rx, ly - ry);
  const [ux, uy] = [(lx - rx) / unit, (ly - ry) / unit];
  const middle = [(rx + lx) / 2, (ry + ly) / 2];
  const pivot = -1.5; // the neck's axis, behind the face
  const [a, b] = [yaw, -pitch].map((degrees) => (degrees * Math.PI) / 180);
  const project = (x, y) => {
    const [px, py, pz0] = surface(x, y);
    const pz = pz0 - pivot;
    // Turns about the vertical axis, then about the horizontal one. The person's left is on the right of the image.
    const [x1, z1] = [px * Math.cos(a) + pz * Math.sin(a), -px * Math.sin(a) + pz * Math.cos(a)];
    const [y2, z2] = [py * Math.cos(b) + z1 * Math.sin(b), -py * Math.sin(b) + z1 * Math.cos(b)];
    const depth = z2 + pivot;
    const size = (scale * camera) / (camera - depth);
    return [width / 2 + shift[0] + x1 * size, height * 0.42 + shift[1] + y2 * size, depth];
  };
  const source = (x, y) => [middle[0] + unit * (x * ux - y * uy), middle[1] + unit * (x * uy + y * ux)];
  const points = [];
  for (let row = 0; row <= cells; row++) {
    for (let column = 0; column <= cells; column++) {
      const x = reach.left + ((reach.right - reach.left) * column) / cells;
      const y = reach.top + ((reach.bottom - reach.top) * row) / cells;
      points.push({ to: project(x, y), from: source(x, y) });
    }
  }
  const out = { data: Buffer.alloc(width * height * 3, 118), width, height };
  const depths = new Float32Array(width * height).fill(Number.NEGATIVE_INFINITY);
  for (let row = 0; row < cells; row++) {
    for (let column = 0; column < cells; column++) {
      const at = row * (cells + 1) + column;
      const corners = [at, at + 1, at + cells + 1, at + cells + 2].map((i) => points[i]);
      drawTriangle(photo, out, depths, corners[0], corners[1], corners[2]);
      drawTriangle(photo, out, depths, corners[1], corners[3], corners[2]);
    }
  }
  return out;
}

/** Draws a triangle if its front is visible. */
function drawTriangle(photo, out, depths, a, b, c) {
  const [ax, ay] = a.to;
  const [bx, by] = b.to;
  const [cx, cy] = c.to;
  const area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay);
  if (area <= 0) return;
  const [left, right] = [
    Math.max(0, Math.floor(Math.min(ax, bx, cx))),
    Math.min(out.width - 1, Math.ceil(Math.max(ax, bx, cx))),
  ];
  const [top, bottom] = [
    Math.max(0, Math.floor(Math.min(ay, by, cy))),
    Math.min(out.height - 1, Math.ceil(Math.max(ay, by, cy))),
  ];
  for (let y = top; y <= bottom; y++) {
    for (let x = left; x <= right; x++) {
      const v = ((x - ax) * (cy - ay) - (cx - ax) * (y - ay)) / area;
      const w = ((bx - ax) * (y - ay) - (x - ax) * (by - ay)) / area;
      const u = 1 - v - w;
      if (u < 0 || v < 0 || w < 0) continue;
      const depth = u * a.to[2] + v * b.to[2] + w * c.to[2];
      const at = y * out.width + x;
      if (depth <= depths[at]) continue;
      depths[at] = depth;
      copyPixel(
        photo,
        u * a.from[0] + v * b.from[0] + w * c.from[0],
        u * a.from[1] + v * b.from[1] + w * c.from[1],
        out.data,
        3 * at,
      );
    }
  }
}

/** Interpolates bilinearly. Outside the photo, uses the nearest pixel. */
function copyPixel({ data, width, height }, x, y, to, at) {
  const cx = Math.min(width - 1.001, Math.max(0, x));
  const cy = Math.min(height - 1.001, Math.max(0, y));
  const [x0, y0] = [Math.floor(cx), Math.floor(cy)];
  const [fx, fy] = [cx - x0, cy - y0];
  for (let channel = 0; channel < 3; channel++) {
    const pixel = (px, py) => data[3 * (py * width + px) + channel];
    const top = pixel(x0, y0) * (1 - fx) + pixel(x0 + 1, y0) * fx;
    const bottom = pixel(x0, y0 + 1) * (1 - fx) + pixel(x0 + 1, y0 + 1) * fx;
    to[at + channel] = top * (1 - fy) + bottom * fy;
  }
}

/** Adds camera noise of up to `max` in each channel, the same for the same `frame`. */
export function addNoise({ data }, frame, max = 9) {
  let state = Math.imul(frame + 1, 0x9e3779b9);
  for (let i = 0; i < data.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    const value = data[i] + ((state >>> 16) % (2 * max + 1)) - max;
    data[i] = Math.min(255, Math.max(0, value));
  }
}
