import { strangersAlike } from '../demo/browser/words.ts';
import type { Match } from '../endpoints/match.ts';
import type { Many } from '../endpoints/match-many.ts';
import type { Person } from '../endpoints/match-person.ts';
import { largestWords } from '../endpoints/options.ts';
import type { Warning } from '../endpoints/warnings.ts';
import { measuredUpTo } from '../scoring/calibration.ts';
import type { ImageField } from '../scoring/similarity.ts';
import { type Colours, count, printable } from './terminal.ts';

/** The part of a 200 answer that is described in words; the JSON below it has the rest. */
export type MatchAnswer = Omit<Match, 'request_id' | 'similarity' | 'pairs' | 'model'>;

/** The answer for people, in several lines. `elapsed_ms`: the time that the caller measured. */
export function describeAnswer(
  answer: MatchAnswer,
  names: Record<ImageField, string>,
  elapsed_ms: number,
  colours: Colours,
): string {
  const warnings = answer.warnings.map((warning) => `  warning     ${describeWarning(warning, names)}`);
  const stages = Object.entries(answer.timings_ms).map(([stage, ms]) => `${stage} ${ms.toFixed(1)}`);
  return [
    ...describeVerdict(answer, colours),
    `  image1      ${describeImage(answer.image1, names.image1)}`,
    `  image2      ${describeImage(answer.image2, names.image2)}`,
    `  compared    ${count(answer.pairs_compared, 'pair')} of faces, accuracy mode ${answer.accuracy_mode}`,
    ...warnings,
    `  time        ${elapsed_ms.toFixed(1)} ms in all; ${stages.join(' · ')}`,
    '',
  ].join('\n');
}

function describeVerdict(
  answer: Pick<MatchAnswer, 'match' | 'threshold_percent'> & Scored,
  colours: Colours,
) {
  const verdict = answer.match
    ? colours.green('Match: the same person')
    : colours.yellow('No match: different people');
  return [
    colours.bold(verdict),
    `  confidence  ${describePercent(answer)} (${beyond(answer)}the threshold is ${answer.threshold_percent} %): ${describeRate(answer)}`,
  ];
}

/** One against several, best first, without those that could not be compared. */
export function describeResults(
  { results, matches, threshold_percent, warnings }: Many,
  reference: string,
  colours: Colours,
): string {
  const compared = results
    .filter((result) => 'match' in result)
    .toSorted((a, b) => b.confidence_percent - a.confidence_percent);
  const lines = compared.flatMap((result) => {
    const percent = describePercent(result).padStart(8);
    const verdict = result.match ? colours.green('match   ') : colours.yellow('no match');
    const name = result.filename ?? '';
    const about = result.warnings.map(
      (warning) => `  warning  ${describeWarning(warning, { image1: reference, image2: name })}`,
    );
    return [`  ${percent}  ${verdict}  ${printable(name)}: ${describeRate(result)}`, ...about];
  });
  return [
    colours.bold(
      `${matches} of ${count(compared.length, 'image')} match ${printable(reference)} (the threshold is ${threshold_percent} %)`,
    ),
    ...lines,
    ...warnings.map((warning) => `  warning  ${describeWarning(warning, { image1: reference, image2: '' })}`),
    '',
  ].join('\n');
}

/** Photos of two people, with how each agrees with the others of its side. */
export function describePersons(answer: Person, colours: Colours): string {
  const photos = (field: ImageField) =>
    answer[field].map(({ filename = '', agreement_percent }) => {
      const agreement = agreement_percent === null ? '' : `, ${agreement_percent} % with the others`;
      return `  ${field}      ${printable(filename)}${agreement}`;
    });
  const nameOf = ({ field, index }: Warning) => answer[field as ImageField]?.[index ?? 0]?.filename ?? field;
  return [
    ...describeVerdict(answer, colours),
    ...photos('image1'),
    ...photos('image2'),
    `  compared    the mean of each side, accuracy mode ${answer.accuracy_mode}`,
    ...answer.warnings.map(
      (warning) =>
        `  warning     ${warning.detail.replaceAll(/\bimage[12]\[\d+\]/g, printable(nameOf(warning)))}`,
    ),
    '',
  ].join('\n');
}

/** A warning with the names of the files. */
function describeWarning(
  { code, field, detail }: MatchAnswer['warnings'][number],
  names: Record<ImageField, string>,
): string {
  const words = code === 'not_the_largest_face' ? largestWords(field) : detail;
  return words.replaceAll(/\bimage[12]\b/g, (image) => printable(names[image as ImageField]));
}

type Scored = Pick<MatchAnswer, 'confidence_percent' | 'false_match_rate' | 'extrapolated'>;

/** Beyond what was measured it only says that it is as much at least. */
function describePercent(answer: Scored): string {
  const [floor, percent] = [measuredUpTo(answer), answer.confidence_percent];
  return floor < percent ? `≥ ${floor.toFixed(1)} %` : `${percent.toFixed(1)} %`;
}

/** The API's own number, where the one before it is what was measured. */
const beyond = (answer: Scored): string =>
  measuredUpTo(answer) < answer.confidence_percent
    ? `the API says ${answer.confidence_percent} %, calculated beyond what was measured; `
    : '';

/** How often strangers score as high. */
const describeRate = (answer: Scored): string =>
  `${strangersAlike(answer)} pairs of strangers score this high`;

function describeImage(image: MatchAnswer['image1'], name: string): string {
  const { width, height, faces, face_index, min_detectable_face_px } = image;
  const { box } = faces.find(({ index }) => index === face_index)!;
  const [left, top, wide, high] = [box.x, box.y, box.width, box.height].map(Math.round);
  const place = `${wide}×${high} pixels at (${left}, ${top})`;
  return `${name}, ${width}×${height}, ${count(faces.length, 'face')} from ${min_detectable_face_px} px on: the one of ${place}`;
}
