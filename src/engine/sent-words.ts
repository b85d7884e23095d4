/** What a client sent, as an answer repeats it. */

/** A detail repeats no more characters of what a client sent. */
const maxRepeated = 32;

/** What a client sent, to be repeated in a detail: cut, in the quotes given, and without what could control a terminal or a line. */
export function excerpt(text: string, quote = ''): string {
  const characters = [...text.slice(0, 2 * maxRepeated + 1)];
  const kept = characters.slice(0, maxRepeated).join('');
  const more = characters.length > maxRepeated ? '…' : '';
  return quote + kept.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd') + quote + more;
}

/** An answer repeats no more characters of a name. */
const maxName = 256;

/** A name that a client chose, as `field` of an answer. */
export const shortName = (name: string) => (name.length > maxName ? `${name.slice(0, maxName)}…` : name);

export function sentWords(sent: unknown): string {
  if (typeof sent === 'string') return excerpt(sent, '"');
  return sent === undefined || (typeof sent === 'object' && sent !== null)
    ? 'a list or an object'
    : String(sent);
}
