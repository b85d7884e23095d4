import { parseArgs } from 'node:util';
import { roles } from '../../src/engine/manifest.ts';
import type { BroughtFiles } from './origins.ts';
import { preparePack } from './prepare.ts';

const usage = `usage: node dist/models/prepare/index.js [PACK] [--file NET=PATH]…
  PACK  a name under models/packs, or a directory; default when left out
  NET   ${roles.join(', ')}: for packs whose files you bring`;

try {
  const { positionals, values } = readArguments();
  const [name = 'default'] = positionals;
  const outcome = await preparePack(name, (line) => console.error(line), broughtFiles(values.file));
  console.error(`Model pack ${name}: ${outcome}`);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

function readArguments() {
  const options = { file: { type: 'string', multiple: true, default: [] as string[] } } as const;
  try {
    const read = parseArgs({ options, allowPositionals: true });
    if (read.positionals.length > 1) throw new Error(`Expected one pack but received ${read.positionals}`);
    return read;
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${usage}`, { cause: error });
  }
}

function broughtFiles(entries: readonly string[]): BroughtFiles {
  const files: BroughtFiles = {};
  for (const entry of entries) {
    const [, word, path] = /^([^=]*)=(.+)$/.exec(entry) ?? [];
    const role = roles.find((known) => known === word);
    if (role === undefined || path === undefined) {
      throw new Error(`--file: expected NET=PATH but received ${JSON.stringify(entry)}\n${usage}`);
    }
    files[role] = path;
  }
  return files;
}
