import {
  loadPack,
  packDirectory,
  printable,
  readConfig,
  readManifest,
  verifyPack,
  withBar,
} from 'facematch/for-lab';
import {
  type AttackFigures,
  attackFigures,
  type PresentationFigures,
  readPresentations,
} from '../attacks.ts';
import { embedImages } from '../embed-images.ts';
import { intervalText, percentText } from '../number-text.ts';
import { describeFailures } from './describe-eval.ts';
import { type EvaluateOptions, failWhereUnread } from './evaluate.ts';

/** Measures the hint at presentation attacks of the configured pack, and prints the figures. */
export async function evaluateAttacks(
  folder: string,
  { mode, json }: Pick<EvaluateOptions, 'mode' | 'json'>,
): Promise<void> {
  const { pack, workers } = readConfig();
  const packDir = packDirectory(pack);
  const manifest = readManifest(packDir);
  const { name, version, liveness, min_det_score: minDetScore } = manifest;
  if (liveness === undefined) {
    throw new Error(`The pack ${name} has no liveness nets; facematch packs add takes them.`);
  }
  const presentations = readPresentations(folder);
  await verifyPack(packDir, manifest);
  loadPack(packDir, manifest);
  const names = presentations.map(({ file }) => file);
  const engine = { packDirectory: packDir, folder, mode, minDetScore, workers, liveScores: true } as const;
  const images = await withBar('images', names.length, (onImage) =>
    embedImages(names, { ...engine, onImage }),
  );
  const figures = attackFigures(presentations, images, liveness.live_threshold);
  if (json) console.log(JSON.stringify({ pack: { name, version }, ...figures }, null, 2));
  else console.log(describeAttacks(`${name} ${version}`, figures));
  failWhereUnread(figures);
}

function describeAttacks(pack: string, { threshold, attacks, live, acer, failures }: AttackFigures): string {
  const width = Math.max(4, ...attacks.map(({ type }) => type.length));
  const line = (rate: string, type: string, its: PresentationFigures, wrong: string) =>
    `${rate}  ${printable(type).padEnd(width)}  ${percentText(its.error_rate)} ${intervalText(its.error_interval)}: ${its.errors} of ${its.images - its.non_responses} ${wrong}`;
  const silent = (rate: string, type: string, its: PresentationFigures) =>
    `${rate}  ${printable(type).padEnd(width)}  ${percentText(its.non_response_rate)}: ${its.non_responses} of ${its.images} without a face`;
  const [worst] = attacks;
  return [
    `pack ${pack}, live from a live_score of ${threshold}; 95 % intervals`,
    `APCER  ${worst ? `${percentText(worst.error_rate)}, that of the worst type of attack` : 'no attacks were given'}`,
    ...attacks.map((its) => line('APCER', its.type, its, 'taken for live')),
    live.images === 0 ? 'BPCER  no live people were given' : line('BPCER', 'live', live, 'taken for attacks'),
    `ACER   ${percentText(acer)}, the mean of both`,
    ...attacks.map((its) => silent('APNRR', its.type, its)),
    ...(live.images === 0 ? [] : [silent('BPNRR', 'live', live)]),
    ...describeFailures(failures),
  ].join('\n');
}
