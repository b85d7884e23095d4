#!/usr/bin/env node
// The bin of package.json. Node built-ins only: before set-up there may be nothing else.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';

const program = new URL('../dist/src/cli/index.js', import.meta.url);
const platform = `@facematch/${process.platform}-${process.arch}`;
const own = new URL('../build/addon/Release/facematch.node', import.meta.url);
// Built here, or installed from npm, which has a package for each platform.
const addon = process.env.FACEMATCH_ADDON || (existsSync(own) ? own : resolved(`${platform}/package.json`));

const missing = [
  { what: 'The program has not been built', there: existsSync(program) },
  // The doctor tells so itself, and what else is the matter.
  {
    what: 'The native addon has not been built',
    there: (addon !== undefined && existsSync(addon)) || process.argv[2] === 'doctor',
  },
].find(({ there }) => !there);

if (missing === undefined) await start();
else if (existsSync(new URL('../CMakeLists.txt', import.meta.url)))
  fail(`${missing.what}. Run: npm run setup`);
else fail(`${platform} is not installed: there is none for this system, or npm left it out`);

function resolved(name) {
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch {
    return undefined;
  }
}

async function start() {
  // Before the program, which an old Node cannot even read.
  const requirements = new URL('../dist/src/cli/system-requirements.mjs', import.meta.url);
  const unmet = (await import(requirements.href)).unmetRequirement();
  // The doctor says what is in the way, and what else is the matter.
  if (unmet !== undefined && process.argv[2] !== 'doctor') {
    fail(unmet);
    return;
  }
  try {
    await import(program.href);
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    fail(
      `A part of facematch is missing: ${error.message.split('\n')[0]}. Run: rm -r node_modules && npm run setup`,
    );
  }
}

function fail(message) {
  console.error(message);
  process.exitCode = 1;
}
