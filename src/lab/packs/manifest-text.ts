/** Like JSON.stringify, but with lists of numbers or names on one line. */
export function manifestText(manifest: object): string {
  const text = JSON.stringify(manifest, null, 2);
  const item = /-?[\d.e-]+|"\w+"/.source;
  const list = new RegExp(`\\[\\s+(?:${item})(?:,\\s+(?:${item}))*\\s+\\]`, 'g');
  const oneLine = (found: string) => found.replaceAll(/\s+/g, ' ').replace('[ ', '[').replace(' ]', ']');
  return `${text.replace(list, oneLine)}\n`;
}
