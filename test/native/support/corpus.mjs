// Analyses every Nth image below a folder in both modes, and a valid image after every eighth:
// `corpus.mjs FOLDER VALID N`. Writes one line of JSON per image.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadPack, options, pack } from './addon.mjs';

const [folder, validFile, every] = process.argv.slice(2);
const addon = loadPack();
const valid = readFileSync(validFile);
const files = readdirSync(folder, { withFileTypes: true, recursive: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name))
  .sort()
  .filter((_file, at) => at % Number(every) === 0);
const word = (outcome) => (outcome.ok ? 'ok' : outcome.code);

for (const [at, file] of files.entries()) {
  const image = readFileSync(file);
  const outcomes = [
    word(addon.analyse(pack, image, { ...options, accuracy_mode: 'balance', min_det_score: 0.3 })),
    word(addon.analyse(pack, image, options)),
  ];
  if (at % 8 === 0 && word(addon.analyse(pack, valid, options)) !== 'ok')
    throw new Error(`after ${file}, a valid image fails`);
  process.stdout.write(`${JSON.stringify({ file, outcomes })}\n`);
}
