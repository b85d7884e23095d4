// docs/clients/client.d.ts: what TypeScript tells a program of `facematch/client`.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Declarations of src/client, made by the compiler, in the project's format. */
export function clientDeclarations() {
  const folder = mkdtempSync(join(tmpdir(), 'facematch-types-'));
  try {
    const options = '--ignoreConfig --rootDir . --declaration --emitDeclarationOnly --skipLibCheck --outDir';
    const taste = '--strict --module nodenext --target es2023 --types node';
    const words = [...taste.split(' '), ...options.split(' '), folder, 'src/client/index.ts'];
    const tsc = ['node_modules/typescript/bin/tsc', ...words];
    execFileSync(process.execPath, tsc, { stdio: ['ignore', 'inherit', 'inherit'] });
    const made = readFileSync(join(folder, 'src/client/index.d.ts'), 'utf8');
    const note =
      '// Made by scripts/generate-docs.mjs of src/client/index.ts; change that instead.\n' +
      '// biome-ignore-all lint/correctness/noUnusedPrivateClassMembers: one stands for all of them\n\n';
    const biome = ['node_modules/@biomejs/biome/bin/biome', 'format', '--stdin-file-path=client.d.ts'];
    return execFileSync(process.execPath, biome, { input: note + made, encoding: 'utf8' });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
