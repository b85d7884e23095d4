import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { afterAll, describe, expect, test } from 'vitest';
import { linkModules } from '../../src/demo/link-modules.ts';

const home = mkdtempSync(join(tmpdir(), 'facematch-link-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
let folders = 0;

/** Modules by name → one script that begins with main.js. */
function link(modules: Readonly<Record<string, string>>): string {
  const folder = join(home, String(folders++));
  mkdirSync(folder);
  for (const [name, text] of Object.entries(modules)) writeFileSync(join(folder, name), text);
  return linkModules(folder, 'main.js');
}

/** What the modules noted while they ran. */
function run(modules: Readonly<Record<string, string>>): unknown[] {
  const noted: unknown[] = [];
  runInNewContext(link(modules), { note: (value: unknown) => noted.push(value) });
  return noted;
}

describe('modules', () => {
  test('see what they import, keep the rest to themselves, and run once each, the imported before', () => {
    const noted = run({
      'main.js':
        "import { twice } from './two-fold.js';\nimport { one } from './one.js';\nnote(twice(one));\n",
      'two-fold.js':
        "import {\n  one,\n} from './one.js';\nconst hidden = 2;\nexport const twice = (x) => hidden * x;\nnote('two ' + one);\n",
      'one.js': "const hidden = 1;\nnote('one');\nexport const one = hidden;\nexport function unused() {}\n",
    });
    expect(noted).toEqual(['one', 'two 1', 2]);
  });

  test('may export functions, async ones, classes and constants', () => {
    const noted = run({
      'main.js':
        "import { a, b, C, d } from './all.js';\nnote([a, b, C, d].map((one) => typeof one).join());\n",
      'all.js':
        'export function a() {}\nexport async function b() {}\nexport class C {}\nexport const d = 1;\n',
    });
    expect(noted).toEqual(['function,function,function,number']);
  });

  test('lose their comments and indentation, but no text that looks like one', () => {
    const script = link({
      'main.js':
        "/** Why. */\n// And how.\nif (1) {\n  /*\n   * Long.\n   */\n  note('// kept'); // kept, too\n}\n",
    });
    expect(script).not.toMatch(/Why|And how|Long|^ /m);
    expect(script).toContain("note('// kept'); // kept, too");
  });
});

describe('what cannot be linked is an error that names the file', () => {
  const one = 'export const one = 1;\n';
  test.each<[what: string, modules: Record<string, string>, message: string]>([
    [
      'a default import',
      { 'main.js': "import one from './one.js';\n", 'one.js': one },
      'main.js: cannot link: import one',
    ],
    [
      'all of a module',
      { 'main.js': "import * as one from './one.js';\n", 'one.js': one },
      'main.js: cannot link: import *',
    ],
    [
      'an import for its effect',
      { 'main.js': "import './one.js';\n", 'one.js': one },
      'main.js: cannot link',
    ],
    ['a package', { 'main.js': "import { one } from 'one';\n" }, 'main.js: cannot link'],
    ['a default export', { 'main.js': 'export default 1;\n' }, 'main.js: cannot link: export default'],
    ['a list of exports', { 'main.js': 'const a = 1;\nexport { a };\n' }, 'main.js: cannot link: export {'],
    [
      'a variable that others would see change',
      { 'main.js': 'export let a = 1;\n' },
      'main.js: cannot link: export let',
    ],
    [
      'a name that is not exported',
      { 'main.js': "import { two } from './one.js';\n", 'one.js': one },
      'main.js: one.js does not export two',
    ],
    ['a file that is not there', { 'main.js': "import { one } from './one.js';\n" }, 'one.js'],
    [
      'a circle',
      {
        'main.js': "import { one } from './one.js';\nexport const main = 1;\n",
        'one.js': `import { main } from './main.js';\n${one}`,
      },
      'main.js → one.js → main.js',
    ],
    ['a template of several lines', { 'main.js': 'note(`a\n  b`);\n' }, 'main.js: cannot link a template'],
    ['the end of its element', { 'main.js': "note('</script>');\n" }, 'main.js: a script cannot hold'],
    ['the start of a comment of HTML', { 'main.js': "note('<!--');\n" }, 'main.js: a script cannot hold'],
  ])('%s', (_, modules, message) => {
    expect(() => link(modules)).toThrow(message);
  });
});
