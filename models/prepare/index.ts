import { parseArgs } from 'node:util';
import { roles } from '../../src/engine/manifest.ts';
import type { ProvidedFiles } from './origins.ts';
import { preparePack } from './prepare.ts';

const usage = `usage: node dist/models/prepare/index.js [PACK] [--file NET=PATH]…
  PACK  name of a folder in models/packs, or a path (default: default)
  NET   ${roles.join(', ')}; for packs with files that you provide`;

try {
  const { positionals, values } = readArguments();
  const [name = 'default'] = positionals;
  const outcome = await preparePack(name, (line) => console.error(line), providedFiles(values.file));
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

function providedFiles(entries: readonly string[]): ProvidedFiles {
  const files: ProvidedFiles = {};
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
