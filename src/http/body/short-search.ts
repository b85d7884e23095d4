/** Bytes that are looked through at a time; by the last eight it overlaps with the next such piece. */
const piece_bytes = 16 * 1024;
const overlap_bytes = 8;
const piece = new Uint8Array(piece_bytes);
const pairs = new Uint16Array(piece.buffer);
/** CR LF, and LF "-", as one number each. */
const [crLf, lfDash] = new Uint16Array(Uint8Array.of(0x0d, 0x0a, 0x0a, 0x2d).buffer);

/**
 * As body.indexOf(needle, from), for a needle of up to eight bytes that begins with CR LF "-". Node looks for such short ones by
 * their first byte, so a body of CRs would hold the main thread up. Here each step reads a pair of bytes: wherever the needle
 * is, a pair of it is CR LF or LF "-".
 */
export function indexOfShort(body: Buffer, needle: Buffer, from: number): number {
  const last = needle.length - 1;
  let found = -1;
  for (let start = from; found < 0 && start + last < body.length; start += piece_bytes - overlap_bytes) {
    // A copy is read faster than shared memory that may grow.
    const length = Math.min(piece_bytes, body.length - start);
    piece.set(body.subarray(start, start + length));
    const at = indexInPiece(needle, length);
    if (at >= 0) found = start + at;
  }
  // Nothing of a body stays.
  piece.fill(0);
  return found;
}

function indexInPiece(needle: Buffer, length: number): number {
  const last = needle.length - 1;
  const lastByte = needle[last];
  for (let index = 0; 2 * index < length; index++) {
    const pair = pairs[index];
    if (pair !== crLf && pair !== lfDash) continue;
    const at = pair === crLf ? 2 * index : 2 * index - 1;
    if (at < 0 || at + last >= length || piece[at + last] !== lastByte) continue;
    let same = 0;
    while (same < last && piece[at + same] === needle[same]) same++;
    if (same === last) return at;
  }
  return -1;
}
