/** A person's part of `count`, by a hash of the name (FNV-1a), so that it does not move when others come and go. */
export function partOf(person: string, count: number): number {
  let hash = 0x811c9dc5;
  for (const char of person) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193);
  // The last bits of this hash alone are uneven for short names.
  return ((hash ^ (hash >>> 15)) >>> 0) % count;
}
