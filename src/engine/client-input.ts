/** Shortens client input for use in a response. */

/** Maximum number of characters of client input that a `detail` quotes. */
const maxRepeated = 32;

/**
 * Quotes client input for a `detail`: shortens it, and replaces characters that could control a terminal or
 * break a line.
 */
export function excerpt(text: string, quote = ''): string {
  const characters = [...text.slice(0, 2 * maxRepeated + 1)];
  const kept = characters.slice(0, maxRepeated).join('');
  const more = characters.length > maxRepeated ? '…' : '';
  return quote + kept.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd') + quote + more;
}

/** Maximum number of characters of a name in a response. */
const maxName = 256;

/** Shortens a name from a client for the member `field` of a response. */
export const shortName = (name: string) => (name.length > maxName ? `${name.slice(0, maxName)}…` : name);

export function describeSent(sent: unknown): string {
  if (typeof sent === 'string') return excerpt(sent, '"');
  return sent === undefined || (typeof sent === 'object' && sent !== null)
    ? 'a list or an object'
    : String(sent);
}
