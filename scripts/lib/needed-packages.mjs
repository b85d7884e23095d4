// Which npm packages the program needs while it runs, by package-lock.json. Reads the project in the working directory.
import { existsSync } from 'node:fs';

/**
 * The folder under node_modules of each, found as Node finds it, with the folders of what it depends on; the program's own is ''.
 * `without` names packages that are left out, with what nothing else needs.
 */
export function neededPackages(lock, without) {
  const needed = new Map();
  const visit = (from) => {
    if (needed.has(from)) return;
    const { dependencies, optionalDependencies } = lock.packages[from];
    const names = Object.keys({ ...dependencies, ...optionalDependencies });
    // An optional one, of another platform, is in the lock file and not there.
    const isThere = (place) => place in lock.packages && existsSync(place);
    const places = names
      .filter((name) => !without.includes(name))
      .flatMap((name) => placesOf(name, from).find(isThere) ?? []);
    needed.set(from, places);
    for (const place of places) visit(place);
  };
  visit('');
  return needed;
}

/** From `a/node_modules/b` one sees the packages in it, in `a`, and at the top. */
function placesOf(name, from) {
  const places = [];
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))) {
    places.push(folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`);
    if (folder === '') return places;
  }
}
