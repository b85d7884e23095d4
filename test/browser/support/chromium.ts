import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/** Debian's Chromium, driven as a person would use it. */

const names = ['chromium', 'chromium-browser', 'google-chrome'];

/** `CHROMIUM`, or the first of the usual names on the path; undefined, with the reason printed, where there is none. */
export const chromiumFile = findChromium();

function findChromium(): string | undefined {
  const told = process.env.CHROMIUM;
  const folders = (process.env.PATH ?? '').split(delimiter);
  const candidates = told ? [told] : names.flatMap((name) => folders.map((folder) => join(folder, name)));
  const found = candidates.find(isExecutable);
  if (found === undefined)
    process.stderr.write('Skipped what needs a browser: there is no chromium on the path, nor in CHROMIUM\n');
  return found;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumFile!,
    // A moving test picture in place of a camera; who may see it is asked as ever.
    args: ['--use-fake-device-for-media-stream'],
  });
}
