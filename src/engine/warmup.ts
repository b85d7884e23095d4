import type { Addon } from './addon.ts';

/** A drawn face of 96 × 96 pixels (WebP). */
const picture = Buffer.from(
  'UklGRiABAABXRUJQVlA4IBQBAACQDQCdASpgAGAAP3Gsy1i0rymjsBcZypAuCWUA02BRQ7Bl7CVV4O4ReFKW6ADAkSS++stZCsqacJK7uNxy' +
    'LeaVvaP72ywCgMAOqgGoGTiyN/1WVz+Ad3oJ94/DtKbm4MMWA+5urRMSDI9Oomleys8k36/2lgAA/twQlgHKBRxR9lIO2YRGZeBp6av6' +
    'Y8dSt+yAs6xqT5KX+D43WlFhGTkE6COlJj3FucyhmOQWV/K55EanRX471kX0J36Ztjsvm7uCnIYf+tYswahwEBv6nkPjsjvegKkbGuyf' +
    'ML6XSdGRyZMt0ixfaHOmjcYlD9yzl8w7+tNYW4lhdo2Jy9Idff97HniH+Z1d4tPv7bh5Osh8AAAAAAA=',
  'base64',
);

/**
 * One real inference through every net: the first run of a session allocates its buffers and touches its weights, and a
 * pack that loads but does not run must be found out before a client does.
 */
export function warmUp(addon: Addon, pack_directory: string): void {
  const range = { start: 0, end: picture.length };
  const outcome = addon.match(pack_directory, picture, range, range, {
    accuracy_mode: 'balance',
    min_det_score: 0.5,
    use_heuristic_fallback: false,
    image1_face_index: -1,
    image2_face_index: -1,
    auto_pair_best: false,
    max_pixels: 96 * 96,
    min_side: 1,
  });
  // A pack of somebody else's may find no face in a drawing; the packs here do.
  if (!outcome.ok && outcome.code !== 'no_face_found') {
    throw new Error(`The first inference failed: ${JSON.stringify(outcome)}`);
  }
}
