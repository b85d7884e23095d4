import type { Match } from '../endpoints/match.ts';
import type { Many } from '../endpoints/match-many.ts';
import type { Person } from '../endpoints/match-person.ts';
import type { Warning } from '../endpoints/warnings.ts';
import type { ImageField } from '../scoring/similarity.ts';
import { notLargestText } from '../words/faces.ts';
import {
  comparedText,
  count,
  percentText,
  rangeNote,
  type Scored,
  shareOfPairs,
  verdictText,
} from '../words/score.ts';
import { type Colours, printable } from './terminal.ts';

/** The members of a response that the description uses. */
export type MatchResponse = Omit<Match, 'request_id' | 'similarity' | 'pairs' | 'model'>;

/** Describes the response in several lines. `elapsed_ms`: the time that the caller measured. */
export function describeMatch(
  response: MatchResponse,
  names: Record<ImageField, string>,
  elapsed_ms: number,
  colours: Colours,
): string {
  const warnings = response.warnings.map((warning) => `  warning     ${describeWarning(warning, names)}`);
  const stages = Object.entries(response.timings_ms).map(([stage, ms]) => `${stage} ${ms.toFixed(1)}`);
  return [
    ...describeVerdict(response, colours),
    `  image1      ${describeImage(response.image1, names.image1)}`,
    `  image2      ${describeImage(response.image2, names.image2)}`,
    `  compared    ${count(response.pairs_compared, 'pair')} of faces, accuracy mode ${response.accuracy_mode}`,
    ...warnings,
    `  time        ${elapsed_ms.toFixed(1)} ms; on the server: ${stages.join(' · ')}`,
    '',
  ].join('\n');
}

function describeVerdict(
  response: Pick<MatchResponse, 'match' | 'threshold_percent'> & Scored,
  colours: Colours,
) {
  const verdict = `${verdictText(response.match)} (${comparedText(response)})`;
  return [
    colours.bold(response.match ? colours.green(verdict) : colours.yellow(verdict)),
    `  score       ${describePercent(response)}: ${describeRate(response)}`,
  ];
}

/** Describes the results of one image against several, best first. Omits images that could not be compared. */
export function describeResults(
  { results, matches, threshold_percent, warnings }: Many,
  reference: string,
  colours: Colours,
): string {
  const compared = results
    .filter((result) => 'match' in result)
    .toSorted((a, b) => b.confidence_percent - a.confidence_percent);
  const lines = compared.flatMap((result) => {
    const percent = percentText(result.confidence_percent).padStart(7);
    const verdict = result.match ? colours.green('match   ') : colours.yellow('no match');
    const name = result.filename ?? '';
    const about = result.warnings.map(
      (warning) => `  warning  ${describeWarning(warning, { image1: reference, image2: name })}`,
    );
    const note = rangeNote(result);
    const rate = `${describeRate(result)}${note && ` (${note})`}`;
    return [`  ${percent}  ${verdict}  ${printable(name)}: ${rate}`, ...about];
  });
  return [
    colours.bold(
      `${matches} of ${count(compared.length, 'image')} match ${printable(reference)} (threshold ${threshold_percent} %)`,
    ),
    ...lines,
    ...warnings.map((warning) => `  warning  ${describeWarning(warning, { image1: reference, image2: '' })}`),
    '',
  ].join('\n');
}

/** Describes the comparison of two persons, and how well each photo agrees with the others of the same person. */
export function describePersons(response: Person, colours: Colours): string {
  const photos = (field: ImageField) =>
    response[field].map(({ filename = '', agreement_percent }) => {
      const agreement = agreement_percent === null ? '' : `, ${agreement_percent} % with the others`;
      return `  ${field}      ${printable(filename)}${agreement}`;
    });
  const nameOf = ({ field, index }: Warning) =>
    response[field as ImageField]?.[index ?? 0]?.filename ?? field;
  return [
    ...describeVerdict(response, colours),
    ...photos('image1'),
    ...photos('image2'),
    `  compared    the mean of each side, accuracy mode ${response.accuracy_mode}`,
    ...response.warnings.map(
      (warning) =>
        `  warning     ${warning.detail.replaceAll(/\bimage[12]\[\d+\]/g, printable(nameOf(warning)))}`,
    ),
    '',
  ].join('\n');
}

/** Describes a warning with file names in place of field names. */
function describeWarning(
  { code, field, detail }: MatchResponse['warnings'][number],
  names: Record<ImageField, string>,
): string {
  const words = code === 'not_the_largest_face' ? notLargestText(field) : detail;
  return words.replaceAll(/\bimage[12]\b/g, (image) => printable(names[image as ImageField]));
}

/** Returns the percent, with a note if it is beyond the measured range. */
function describePercent(response: Scored): string {
  const note = rangeNote(response);
  return `${percentText(response.confidence_percent)}${note && ` (${note})`}`;
}

const describeRate = (response: Scored): string => `${shareOfPairs(response)} score this high`;

function describeImage(image: MatchResponse['image1'], name: string): string {
  const { width, height, faces, face_index, min_detectable_face_px } = image;
  const { box } = faces.find(({ index }) => index === face_index)!;
  const [left, top, wide, high] = [box.x, box.y, box.width, box.height].map(Math.round);
  const place = `${wide}×${high} px at (${left}, ${top})`;
  const found = `${count(faces.length, 'face')} of at least ${min_detectable_face_px} px`;
  return `${name}, ${width}×${height} px, ${found}; compared: ${place}`;
}
