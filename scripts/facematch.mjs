#!/usr/bin/env node
// The bin of package.json. It uses only Node built-ins, because before set-up nothing else is installed.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';

const program = new URL('../dist/src/cli/index.js', import.meta.url);
const own = new URL('../build/addon/Release/facematch.node', import.meta.url);
const platform = `@facematch/${process.platform}-${process.arch}`;

// JavaScript that an old Node can read, unlike the program. A clone that was not built has it only in `src`.
const { installation, repair } = await part('config/installation.mjs');
const { kind } = installation();
const { unmetRequirement } = await part('cli/system-requirements.mjs');

// The doctor itself reports unsupported systems, and all other problems.
const isDoctor = process.argv[2] === 'doctor';
const unmet = isDoctor ? undefined : unmetRequirement(kind);

if (unmet !== undefined) fail(unmet);
else if (!existsSync(program)) fail(`The program has not been built. Run: ${repair('program')}`);
else if (!hasAddon() && !isDoctor) {
  // In a clone it is built, in a package it is a file of another package, which npm omits with
  // --omit=optional.
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
