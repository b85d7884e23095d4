// npm run hooks: installs a git hook in this clone, which checks the staged files before each commit. Optional.
//   node scripts/hooks.mjs [--remove]
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))));
const { remove } = parseArgs({ options: { remove: { type: 'boolean', default: false } } }).values;
const folder = execFileSync('git', ['rev-parse', '--git-path', 'hooks'], { encoding: 'utf8' }).trim();
const file = join(folder, 'pre-commit');

const mark = '# Created by npm run hooks.';
/** Checks format and lint of the staged files in a second or two. `npm test` checks types and runs the tests. */
const script = `#!/bin/sh
${mark} To skip it once: git commit --no-verify
set -e
node_modules/.bin/biome check --staged --no-errors-on-unmatched --error-on-warnings --colors=off
files=$(git diff --cached --name-only --diff-filter=ACMR -- 'native/*.cpp' 'native/*.h')
[ -z "$files" ] || echo "$files" | xargs clang-format-19 --dry-run -Werror
`;

const isOurs = existsSync(file) && readFileSync(file, 'utf8').includes(mark);
if (existsSync(file) && !isOurs) {
  console.error(`${file} was not changed, because npm run hooks did not create it.`);
  process.exitCode = 1;
} else if (remove) {
  rmSync(file, { force: true });
  console.log(`Removed ${file}.`);
} else {
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, script);
  chmodSync(file, 0o755);
  console.log(`${file} checks format and lint before each commit. To remove it: npm run hooks -- --remove`);
}
