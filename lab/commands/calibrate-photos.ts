import {
  calibrationOf,
  loadPack,
  netsAlone,
  packDirectory,
  promisedRate,
  readCalibratedManifest,
  readConfig,
  verifyPack,
  withBar,
} from 'facematch/for-lab';
import { findFaces, type SetFolder } from '../found-faces.ts';
import { cohortTasks, makeCohorts } from '../held-out.ts';
import type { Grouping } from '../people.ts';
import { checkShifts, fitShifts, groupsOf, newMeans, photosPercents } from '../photos.ts';
import { writeManifest } from '../write-fit.ts';

/**
 * Measures what several photos of a person change, for a pack that is calibrated, and with `write` notes it there; nothing else of the
 * pack changes. The result is the output of --json.
 */
export async function calibratePhotos(
  table: readonly SetFolder[],
  options: { pack?: string; groups?: readonly Grouping[]; write?: boolean; check?: boolean },
) {
  const { pack, workers } = readConfig();
  const directory = packDirectory(options.pack ?? pack);
  const manifest = readCalibratedManifest(directory);
  await verifyPack(directory, manifest);
  loadPack(directory, netsAlone(manifest));
  const wanted = { table, cohortOnly: [], covered: [], withoutPeople: [], groups: options.groups };
  const engine = { packDirectory: directory, minDetScore: manifest.min_det_score, workers };
  const found = await findFaces(wanted, engine);
  const modes = [];
  for (const { mode, table: sets } of found.modes) {
    const all = sets.flatMap(({ images }, set) => images.map((one) => ({ ...one, set: String(set) })));
    const groups = groupsOf(sets);
    const { heldOut } = await withBar(`cohorts ${mode}`, cohortTasks, (onTask) =>
      makeCohorts(all, { workers, onTask }, [...all, ...newMeans(groups)]),
    );
    const shiftsWithout = fitShifts(groups, heldOut);
    const photos = shiftsWithout();
    if (photos.length < 2)
      throw new Error('There are too few people of two photos: at least 100 are needed.');
    const calibration = calibrationOf(manifest.calibration[mode]);
    const check = options.check
      ? photosPercents.flatMap((percent) => {
          const promised = promisedRate(percent);
          const rows = checkShifts(groups, heldOut, shiftsWithout, calibration.similarityAt(promised));
          return rows.map((row) => ({ percent, promised, ...row }));
        })
      : undefined;
    modes.push({ mode, photos, ...(check && { check }) });
    manifest.calibration[mode].photos = photos;
  }
  if (options.write) writeManifest(directory, manifest);
  return { pack: manifest.name, written: options.write === true, modes };
}
