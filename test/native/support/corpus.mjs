// Looks at every picture below the folder that is its argument, alone and as each half of a match; one line of JSON each.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load, options, pack, sample } from './addon.mjs';

const addon = load();
const face = sample(1);
const files = readdirSync(process.argv[2], { withFileTypes: true, recursive: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name))
  .sort();
const word = (outcome) => (outcome.ok ? 'ok' : outcome.code);

for (const file of files) {
  const picture = readFileSync(file);
  const body = Buffer.concat([face, picture]);
  const known = { start: 0, end: face.length };
  const range = { start: face.length, end: body.length };
  const outcomes = [
    word(addon.embed(pack, picture, options)),
    word(addon.embed(pack, picture, { ...options, accuracy_mode: 'balance', min_det_score: 0.1 })),
    // A match decodes both pictures: the sound one first only when that costs little under a sanitizer.
    ...(process.argv[3] === 'match'
      ? [
          word(addon.match(pack, body, known, range, options)),
          word(addon.match(pack, body, range, known, options)),
        ]
      : []),
  ];
  process.stdout.write(`${JSON.stringify({ file, outcomes })}\n`);
}
