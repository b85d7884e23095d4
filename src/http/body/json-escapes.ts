/** Texts of JSON (RFC 8259 section 7) that are read in pieces. */

/** A piece without the escape that its end may cut. The caller takes no escaped backslash, of which this may leave one half. */
export function withoutCutEscape(piece: string): string {
  const last = piece.lastIndexOf('\\');
  return last > piece.length - 6 ? piece.slice(0, last) : piece;
}

/**
 * What the characters of a text say, or undefined where they are no JSON. JSON.parse does it: to replace each escape by itself would
 * hold the main thread up.
 */
export function unescaped(text: string): string | undefined {
  try {
    return JSON.parse(`"${text}"`);
  } catch {
    return undefined;
  }
}
