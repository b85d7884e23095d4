// Looks at every picture below a folder, alone and as the second half of a match with a sound one: `corpus.mjs FOLDER SOUND`.
// Writes one line of JSON for each.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load, options, pack } from './addon.mjs';

const [folder, soundFile] = process.argv.slice(2);
const addon = load();
const sound = readFileSync(soundFile);
const files = readdirSync(folder, { withFileTypes: true, recursive: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name))
  .sort();
const word = (outcome) => (outcome.ok ? 'ok' : outcome.code);

for (const file of files) {
  const picture = readFileSync(file);
  const body = Buffer.concat([sound, picture]);
  const first = { start: 0, end: sound.length };
  const second = { start: sound.length, end: body.length };
  const outcomes = [
    word(addon.embed(pack, picture, { ...options, accuracy_mode: 'balance', min_det_score: 0.3 })),
    word(addon.match(pack, body, first, second, options)),
  ];
  process.stdout.write(`${JSON.stringify({ file, outcomes })}\n`);
}
