import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadPack, packDirectory, printable, readConfig, readManifest, verifyPack } from 'facematch/for-lab';
import { embedImages } from '../embed-images.ts';
import type { EmbeddedImage } from '../embed-worker.ts';
import { PersonRate } from '../metrics.ts';
import { countText, intervalText, percentText } from '../number-text.ts';
import { imagesBelow } from '../people.ts';
import { describeFailures } from './describe-eval.ts';
import { type EvaluateOptions, failIfUnread } from './evaluate.ts';

/**
 * Measures how well the configured pack's live scores detect attacks, and prints the error rates of
 * ISO/IEC 30107-3.
 */
export async function evaluateAttacks(
  folder: string,
  { mode, json }: Pick<EvaluateOptions, 'mode' | 'json'>,
): Promise<void> {
  const { pack, workers } = readConfig();
  const packDir = packDirectory(pack);
  const manifest = readManifest(packDir);
  const { name, version, liveness, min_det_score: minDetScore } = manifest;
  if (liveness === undefined) {
    throw new Error(`The pack ${name} has no liveness model; add one with facematch packs add --liveness.`);
  }
  const presentations = readPresentations(folder);
  await verifyPack(packDir, manifest);
  loadPack(packDir, manifest);
  const names = presentations.map(({ file }) => file);
  const engine = { packDirectory: packDir, folder, mode, minDetScore, workers, liveScores: true } as const;
  const images = await embedImages('images', names, engine);
  const figures = attackFigures(presentations, images, liveness.live_threshold);
  if (json) console.log(JSON.stringify({ pack: { name, version }, ...figures }, null, 2));
  else console.log(describeAttacks(`${name} ${version}`, figures));
  failIfUnread(figures);
}

function describeAttacks(
  pack: string,
  { threshold, attacks, live, acer, failures }: ReturnType<typeof attackFigures>,
): string {
  const width = Math.max(4, ...attacks.map(({ type }) => type.length));
  const line = (rate: string, type: string, its: ReturnType<typeof figuresOf>, wrong: string) =>
    `${rate}  ${printable(type).padEnd(width)}  ${percentText(its.error_rate)} ${intervalText(its.error_interval)}: ${its.errors} of ${its.images - its.non_responses} ${wrong}${sourcesText(its, type === 'live' ? 'people' : 'instruments')}`;
  const nonResponseLine = (rate: string, type: string, its: ReturnType<typeof figuresOf>) =>
    `${rate}  ${printable(type).padEnd(width)}  ${percentText(its.non_response_rate)}: ${its.non_responses} of ${its.images} without a face`;
  const [worst] = attacks;
  return [
    `pack ${pack}, live at a live_score of ${threshold} or more; 95 % intervals by person or instrument`,
    `APCER  ${worst ? `${percentText(worst.error_rate)}, the highest of all attack types` : 'no attacks were given'}`,
    ...attacks.map((its) => line('APCER', its.type, its, 'classified as live')),
    live.images === 0
      ? 'BPCER  no live people were given'
      : line('BPCER', 'live', live, 'classified as attacks'),
    `ACER   ${percentText(acer)}, the mean of APCER and BPCER`,
    ...attacks.map((its) => nonResponseLine('APNRR', its.type, its)),
    ...(live.images === 0 ? [] : [nonResponseLine('BPNRR', 'live', live)]),
    ...describeFailures(failures),
  ].join('\n');
}

/** Formats the number of people or instruments in the images with a face; empty if each image has its own. */
const sourcesText = ({ images, non_responses, sources }: ReturnType<typeof figuresOf>, what: string) =>
  sources < images - non_responses ? `, of ${countText(sources)} ${what}` : '';

/**
 * Returns the images in live/PERSON and attack/TYPE/INSTRUMENT. `type` is undefined for a live person. `source` is
 * the person or the instrument; an image outside such a folder is its own source. Throws an Error whose message is
 * meant for the user if one of the folders live and attack exists without images, or both are missing.
 */
function readPresentations(folder: string) {
  const below = (name: string): string[] =>
    existsSync(join(folder, name)) ? imagesBelow(join(folder, name)) : [];
  const found = [
    ...below('live').map((path) => ({
      file: join('live', path),
      type: undefined,
      source: path.split('/')[0]!,
    })),
    ...below('attack').map((path) => {
      const [first, ...rest] = path.split('/') as [string, ...string[]];
      return {
        file: join('attack', path),
        type: rest.length > 0 ? first : 'attack',
        source: rest[0] ?? first,
      };
    }),
  ];
  if (found.length > 0) return found;
  throw new Error(`${folder} must contain images in the folders live and attack, or in one of them`);
}

/**
 * Returns the rates of each attack type (highest first) and of live people, and ACER. ACER is the mean of the highest
 * APCER and of BPCER, or NaN if one of them is NaN. Uses the live score of the compared face of each image.
 */
function attackFigures(
  presentations: ReturnType<typeof readPresentations>,
  images: ReadonlyMap<string, EmbeddedImage>,
  threshold: number,
) {
  const failures: Record<string, string> = {};
  const scores = new Map<string | undefined, Presentation[]>();
  for (const { file, type, source } of presentations) {
    const { faces, chosen, failure } = images.get(file)!;
    if (failure !== undefined) failures[file] = failure;
    else {
      const ofType = scores.get(type) ?? [];
      ofType.push({ source, score: faces[chosen]?.live_score });
      scores.set(type, ofType);
    }
  }
  const attacks = [...scores]
    .flatMap(([type, its]) =>
      type === undefined ? [] : [{ type, ...figuresOf(its, (score) => score >= threshold) }],
    )
    .sort((a, b) => rank(b) - rank(a));
  const live = figuresOf(scores.get(undefined) ?? [], (score) => score < threshold);
  const acer = ((attacks[0]?.error_rate ?? Number.NaN) + live.error_rate) / 2;
  return { threshold, attacks, live, acer, failures };
}

/** Types without a single face come last, because their rate is NaN. */
const rank = ({ error_rate }: { error_rate: number }) => (Number.isNaN(error_rate) ? -1 : error_rate);

interface Presentation {
  source: string;
  /** Undefined for an image without a face. */
  score: number | undefined;
}

function figuresOf(presentations: readonly Presentation[], isError: (score: number) => boolean) {
  const sources = new Map<string, number>();
  for (const { source, score } of presentations)
    if (score !== undefined && !sources.has(source)) sources.set(source, sources.size);
  const wrong = new PersonRate(sources.size);
  for (const { source, score } of presentations)
    if (score !== undefined) wrong.add(isError(score), sources.get(source)!);
  const non_responses = presentations.length - wrong.trials;
  return {
    images: presentations.length,
    // Number of people or attack instruments in the images with a face.
    sources: sources.size,
    // Images without a face have no score. Their share is APNRR or BPNRR.
    non_responses,
    // Errors are scores on the wrong side of the threshold. Their share is APCER or BPCER, NaN without scores.
    errors: wrong.hits,
    error_rate: wrong.rate,
    error_interval: wrong.interval,
    non_response_rate: non_responses / presentations.length,
  };
}
