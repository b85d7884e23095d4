/** Where what is shown has a member or a type that the real thing has not. Items of a list are held against its first. */
export function shapeFaults(shown: unknown, real: unknown, path = ''): string[] {
  const [told, found] = [typeOf(shown), typeOf(real)];
  if (told !== found) return [`${path}: ${told}, and really ${found}`];
  if (typeof shown !== 'object' || shown === null) return [];
  return Object.entries(shown)
    .filter(([name]) => name !== '…')
    .flatMap(([name, member]) => {
      const own = Array.isArray(real) ? real[0] : (real as Record<string, unknown>)[name];
      return shapeFaults(member, own, path === '' ? name : `${path}.${name}`);
    });
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'list' : typeof value;
}
