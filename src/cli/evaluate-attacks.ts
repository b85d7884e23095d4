import { readConfig } from '../config/config.ts';
import type { AccuracyMode } from '../engine/addon.ts';
import { loadPack } from '../engine/load-addon.ts';
import { packDirectory, readDraft, verifyPack } from '../engine/manifest.ts';
import {
  type AttackFigures,
  attackFigures,
  type PresentationFigures,
  readPresentations,
} from '../lab/attacks.ts';
import { embedImages } from '../lab/embed-images.ts';
import { intervalText, percentText } from '../lab/number-text.ts';
import { describeFailures } from './eval-text.ts';
import { printable, withBar } from './terminal.ts';

/** Measures the hint at presentation attacks of the configured pack, and prints the figures. */
export async function evaluateAttacks(
  folder: string,
  { mode, json }: { mode: AccuracyMode; json: boolean },
): Promise<void> {
  const { pack, workers } = readConfig();
  const directory = packDirectory(pack);
  const manifest = readDraft(directory);
  const { name, version, liveness, min_det_score: minDetScore } = manifest;
  if (liveness === undefined) {
    throw new Error(`The pack ${name} has no liveness nets; facematch packs add takes them.`);
  }
  const presentations = readPresentations(folder);
  await verifyPack(directory, manifest);
  loadPack(directory, manifest);
  const images = await withBar('pictures', presentations.length, (onImage) =>
    embedImages(
      presentations.map(({ file }) => file),
      { packDirectory: directory, folder, mode, minDetScore, workers, liveScores: true, onImage },
    ),
  );
  const figures = attackFigures(presentations, images, liveness.live_threshold);
  console.log(
    json
      ? JSON.stringify({ pack: { name, version }, ...figures }, null, 2)
      : describeAttacks(`${name} ${version}`, figures),
  );
}

function describeAttacks(pack: string, { threshold, attacks, live, acer, failures }: AttackFigures): string {
  const width = Math.max(4, ...attacks.map(({ type }) => type.length));
  const line = (rate: string, type: string, its: PresentationFigures, wrong: string) =>
    `${rate}  ${printable(type).padEnd(width)}  ${percentText(its.error_rate)} ${intervalText(its.error_interval)}: ${its.errors} of ${its.pictures - its.non_responses} ${wrong}`;
  const silent = (rate: string, type: string, its: PresentationFigures) =>
    `${rate}  ${printable(type).padEnd(width)}  ${percentText(its.non_response_rate)}: ${its.non_responses} of ${its.pictures} without a face`;
  return [
    `pack ${pack}, live from a live_score of ${threshold}; 95 % intervals`,
    attacks.length === 0
      ? 'APCER  no attacks were given'
      : `APCER  ${percentText(attacks[0]!.error_rate)}, that of the worst type of attack`,
    ...attacks.map((its) => line('APCER', its.type, its, 'taken for live')),
    live.pictures === 0
      ? 'BPCER  no live people were given'
      : line('BPCER', 'live', live, 'taken for attacks'),
    `ACER   ${percentText(acer)}, the mean of both`,
    ...attacks.map((its) => silent('APNRR', its.type, its)),
    ...(live.pictures === 0 ? [] : [silent('BPNRR', 'live', live)]),
    ...describeFailures(failures),
  ].join('\n');
}
