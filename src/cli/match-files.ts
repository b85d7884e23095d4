import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { calibrationOf } from '../calibration.ts';
import { readConfig } from '../config.ts';
import { type AccuracyMode, loadAddon } from '../engine/addon.ts';
import { packDirectory, readManifest, verifyPack } from '../engine/pack.ts';
import { fillFields } from '../http/fields.ts';
import { matchBody, nativeProblem } from '../http/match-result.ts';

export interface MatchFilesOptions {
  accuracy_mode: AccuracyMode;
  threshold_percent: number;
}

/** Compares two files on this thread; the answer is the server's own. Throws an Error with a message for people. */
export async function matchFiles(files: readonly [string, string], options: MatchFilesOptions) {
  const start = performance.now();
  const config = readConfig();
  const directory = packDirectory(config.pack);
  const manifest = readManifest(directory);
  const [picture1, picture2] = files.map((file) => readFileSync(file)) as [Buffer, Buffer];
  await verifyPack(directory, manifest);
  const body = Buffer.concat([picture1, picture2]);
  const chosen = new Map<string, number | string>(Object.entries(options));
  const values = fillFields(chosen, manifest);
  const result = loadAddon().match(
    directory,
    body,
    { start: 0, end: picture1.length },
    { start: picture1.length, end: body.length },
    { ...values, max_pixels: config.max_pixels, min_side: config.min_side },
  );
  if (!result.ok) {
    if (result.code === 'internal_error') throw new Error(result.message);
    throw nativeProblem(result);
  }
  return matchBody({
    request_id: randomUUID(),
    form: { values, warnings: [] },
    result,
    calibration: calibrationOf(manifest.calibration[options.accuracy_mode]),
    model: { pack: manifest.name, version: manifest.version },
    queue_ms: 0,
    total_ms: performance.now() - start,
  });
}
