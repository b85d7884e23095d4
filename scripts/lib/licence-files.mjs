// What an installed npm package says of its licence: who holds the copyright, and the text that must be carried.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A line that names a holder, and none that speaks of copyright or leaves a blank for it. */
const holder = /^\W*copyright\s+(?!\[|notice|holder|owner|licen[cs]e|and\b|\d{4},? name)\S/i;

/** Where the terms begin: above it stand titles and copyright lines, which differ where the terms do not. */
const terms =
  /^\W*(?:permission is hereby|permission to use|redistribution and use|apache license|licensed under the apache)/im;

/** Below the terms of Apache-2.0 it says how to apply them. */
const apacheEnd = 'END OF TERMS AND CONDITIONS';

/**
 * `licences`: { holders, text } for each file, the text from its first term on; `notices`: whole NOTICE files, which
 * Apache-2.0 section 4 (d) asks for. Throws an Error where terms are not recognised.
 */
export function licenceFiles(folder) {
  const named = (pattern) =>
    existsSync(folder)
      ? readdirSync(folder)
          .filter((file) => pattern.test(file))
          .sort()
          .map((file) => readFileSync(join(folder, file), 'utf8'))
      : [];
  return {
    licences: named(/^(?:licen[cs]e|copying)\b/i).map((text) => {
      const start = text.search(terms);
      if (start === -1) throw new Error(`The licence of ${folder} begins with no words that are known`);
      const body = text.slice(start).split(apacheEnd)[0];
      return { holders: holdersIn(text), text: body.trim() };
    }),
    notices: named(/^notice\b/i).map((text) => text.trim()),
  };
}

function holdersIn(text) {
  return text
    .split('\n')
    .filter((line) => holder.test(line))
    .map((line) => line.replace(/^\W+/, '').trim());
}

/** Texts that differ in white space, quotation marks and capitals alone are the same licence. */
export const sameText = (text) => text.toLowerCase().replace(/[\s"'“”‘’*]+/g, ' ');
