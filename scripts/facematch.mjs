#!/usr/bin/env node
// The command `facematch` (bin in package.json). Uses only Node's built-in modules, because nothing else is installed
// before setup.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';

const program = new URL('../dist/src/cli/index.js', import.meta.url);
const own = new URL('../build/addon/Release/facematch.node', import.meta.url);
const platform = `@facematch/${process.platform}-${process.arch}`;

// These modules also run on old Node.js versions, unlike the program. Before the first build they exist only in `src`.
const { installation, repair } = await part('config/installation.mjs');
const { kind } = installation();
const { unmetRequirement } = await part('cli/system-requirements.mjs');

// `facematch doctor` reports unsupported systems itself.
const isDoctor = process.argv[2] === 'doctor';
const unmet = isDoctor ? undefined : unmetRequirement(kind);

if (unmet !== undefined) fail(unmet);
else if (!existsSync(program)) fail(`The program has not been built. Run: ${repair('program')}`);
else if (!hasAddon() && !isDoctor) {
  // A clone builds the addon. An npm installation has it in an optional dependency, which --omit=optional skips.
  const fault =
    kind === 'clone' ? 'The native addon has not been built' : `The package ${platform} is not installed`;
  fail(`${fault}. Run: ${repair('addon')}`);
} else await start();

function part(path) {
  const compiled = new URL(`../dist/src/${path}`, import.meta.url);
  return import((existsSync(compiled) ? compiled : new URL(`../src/${path}`, import.meta.url)).href);
}

function hasAddon() {
  if (process.env.FACEMATCH_ADDON) return existsSync(process.env.FACEMATCH_ADDON);
  return existsSync(own) || existsSync(resolved(`${platform}/package.json`) ?? '');
}

function resolved(name) {
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch {
    return undefined;
  }
}

async function start() {
  try {
    await import(program.href);
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    fail(`A part of facematch is missing: ${error.message.split('\n')[0]}. Run: ${repair('packages')}`);
  }
}

function fail(message) {
  console.error(message);
  process.exitCode = 1;
}
