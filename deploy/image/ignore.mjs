// .dockerignore, as far as ours goes: names, `*` within a name, `!` for exceptions; the last line that matches decides.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Answers a function: is this path, relative to the context, let through? */
export function readIgnore(text) {
  const rules = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const pattern = line.replace(/^!/, '');
      if (/\*\*|[?[\]\\]/.test(pattern)) throw new Error(`.dockerignore: ${line} is not understood here`);
      return { lets: line.startsWith('!'), matches: matcher(pattern) };
    });
  return (path) => rules.findLast(({ matches }) => matches(path))?.lets ?? true;
}

/** A pattern matches what it names and all below. */
function matcher(pattern) {
  const words = pattern
    .replace(/\/$/, '')
    .replaceAll(/[.+^${}()|]/g, '\\$&')
    .replaceAll('*', '[^/]*');
  const expression = new RegExp(`^${words}(?:/.*)?$`);
  return (path) => expression.test(path);
}

/** Every file of the context below `path` that is let through. */
export function contextFiles(root, lets, path = '') {
  return readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) => {
    const inner = path === '' ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory()) return mayHold(inner) ? contextFiles(root, lets, inner) : [];
    return lets(inner) ? [inner] : [];
  });
}

/** Large, and never let through: not worth the walk. */
const mayHold = (folder) => !/(?:^|\/)(?:\.git|node_modules|\.cache)$/.test(folder);
