#!/usr/bin/env node
// The bin of package.json. Node built-ins only: before set-up there may be nothing else.
import { existsSync } from 'node:fs';

const program = new URL('../dist/src/cli/index.js', import.meta.url);
const addon =
  process.env.FACEMATCH_ADDON ?? new URL('../build/addon/Release/facematch.node', import.meta.url);

const missing = [
  { what: 'The program has not been built', there: existsSync(program) },
  { what: 'The native addon has not been built', there: existsSync(addon) },
].find(({ there }) => !there);

if (missing === undefined) {
  await import(program.href);
} else {
  console.error(`${missing.what}. Run: npm run setup`);
  process.exitCode = 1;
}
