import { largestWords, optionRules } from '../../endpoints/options.ts';
import { measuredUpTo, promisedRate } from '../../scoring/calibration.ts';
import type { Plan, Warning } from './types.ts';

/** Texts of the page: numbers for people, and the request as a command. */

const twoDigits = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });
const grouped = new Intl.NumberFormat('en');
const leastAgreement_percent = optionRules.min_agreement_percent.default;

/** A false-match rate, 0..1, as a share of strangers: "1 in 10,000", from 0.1 on "4 in 10", above 0.5 "most". */
export function shareOfStrangers(rate: number): string {
  // The scale ends at 100 %, which is a rate of 1e-7.
  if (rate <= 1e-7) return 'fewer than 1 in 10 million';
  if (rate > 0.5) return 'most';
  if (rate >= 0.1) return `${Math.round(rate * 10)} in 10`;
  const one = 1 / rate;
  return one >= 1e6 ? `1 in ${twoDigits.format(one / 1e6)} million` : `1 in ${twoDigits.format(one)}`;
}

interface Scored {
  confidence_percent: number;
  false_match_rate: number;
  extrapolated: boolean;
}

/** The share of strangers that score as high as an answer; an upper bound if extrapolated, and unknown without a calibration. */
export function strangersAlike(answer: Omit<Scored, 'confidence_percent'>): string {
  if (answer.extrapolated && answer.false_match_rate > 0.5) return 'an unknown number of';
  const share = shareOfStrangers(answer.false_match_rate);
  return answer.extrapolated && share.startsWith('1 in') ? `fewer than ${share}` : share;
}

/** The percent of an answer; beyond what was measured only that it is as much at least. */
export function scoreText({ confidence_percent, ...rate }: Scored): string {
  const floor = measuredUpTo(rate);
  return floor < confidence_percent ? `≥\u00a0${percentText(floor)}` : percentText(confidence_percent);
}

/** The share of strangers that passes a threshold: from 40 % (1 in 10) on, ten points are a power of ten. */
export function thresholdWords(percent: number): string {
  const share = percent < 40 ? 'more than 1 in 10' : shareOfStrangers(promisedRate(percent));
  return `${share} strangers would pass`;
}

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export function count(number: number, noun: string): string {
  return `${grouped.format(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/** The percent and its sign, with a non-breaking space between. */
export const percentText = (percent: number): string => `${Number(percent.toFixed(1))}\u00a0%`;

/** A photo of several as people count them: `image2[0]` → photo 1 of person 2. */
export const photoWords = (text: string) =>
  text.replaceAll(
    /\bimage([12])\[(\d+)\]/g,
    (_, person, index) => `photo ${Number(index) + 1} of person ${person}`,
  );

/** How well a photo fits the others of its person; odd is one that the server would refuse. */
export function agreementWords(percent: number): { text: string; isOdd: boolean } {
  const isOdd = percent < leastAgreement_percent;
  return { text: `${isOdd ? 'Does not fit' : 'Fits'} the others: ${percentText(percent)}`, isOdd };
}

/** The photos that do not fit the others of their person, as a problem names them. */
export function disagreementWords(errors: readonly { field: string; index: number }[]): string {
  const people = [...new Set(errors.map(({ field }) => field))].map((field) => {
    const photos = errors.flatMap((one) => (one.field === field ? [`photo ${one.index + 1}`] : []));
    return `${photos.join(' and ')} of person ${field.slice(-1)}`;
  });
  return (
    `Somebody else may be on ${people.join(' and on ')}. Remove what does not belong there, ` +
    'or choose photos in which the person is alone or in front.'
  );
}

/** A warning's own words, except where they are about the fields of a request. `image2` is what the second photo is called. */
export function warningText({ code, field, index, face_index, detail }: Warning, image2 = 'photo 2'): string {
  if (code !== 'not_the_largest_face') return photoWords(detail);
  if (index !== undefined) {
    return (
      `${capital(photoWords(`${field}[${index}]`))}: the largest face was compared, but face ${face_index! + 1} fits better. The ` +
      'person you mean may stand behind somebody else: choose a photo in which they are alone or in front.'
    );
  }
  const photo = field === 'image2' ? image2 : 'photo 1';
  return `${largestWords(photo)} Tick “Compare every face with every face” to compare others too.`;
}

/** 10 MiB, 3.4 MB: powers of two when it is a whole number of them, as limits are. */
export function bytesText(bytes: number): string {
  const MiB = 1024 * 1024;
  if (bytes >= MiB && bytes % MiB === 0) return `${bytes / MiB} MiB`;
  if (bytes >= 1e6) return `${(bytes / 1e6).toFixed(1)} MB`;
  return bytes >= 1000 ? `${Math.round(bytes / 1000)} kB` : count(bytes, 'byte');
}

export type Photos = readonly { name: string; file: { name: string } | undefined }[];

/** The request as a command, without the key, because a shell keeps a history. */
export function curlLine(origin: string, { path, fields }: Plan, photos: Photos): string {
  const files = photos.flatMap(({ name, file }) => (file ? [`${name}=@${formFile(file.name)}`] : []));
  const texts = Object.entries(fields).map(([name, text]) => `${name}=${text}`);
  const parts = [...files, ...texts].map((part) => `-F ${shellWord(part)}`);
  return ['curl -H "x-api-key: $FACEMATCH_KEY"', ...parts, shellWord(origin + path)].join(' \\\n  ');
}

/** curl(1), --form: a name with a comma or semicolon is put in double quotes. */
function formFile(name: string): string {
  return /[,;"\\]/.test(name) ? `"${name.replaceAll(/["\\]/g, '\\$&')}"` : name;
}

/** POSIX shell, section 2.2.2: between single quotes, everything but a single quote is itself. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
