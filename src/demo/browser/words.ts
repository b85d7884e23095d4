import { optionRules } from '../../endpoints/options.ts';
import { betterFaceText, notLargestText } from '../../words/faces.ts';
import { count, percentText } from '../../words/score.ts';
import type { Plan, Warning } from './types.ts';

/** Texts that only the page uses. src/words has the texts that the command line uses too. */

const minAgreement_percent = optionRules.min_agreement_percent.default;

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Replaces names of photos with those of the page: `image2[0]` becomes "photo 1 of person 2". */
export const photoNames = (text: string) =>
  text.replaceAll(
    /\bimage([12])\[(\d+)\]/g,
    (_, person, index) => `photo ${Number(index) + 1} of person ${person}`,
  );

/**
 * Describes how well a photo agrees with the others of its person. `isOdd`: the server rejects the photo by default.
 */
export function agreementText(percent: number): { text: string; isOdd: boolean } {
  const isOdd = percent < minAgreement_percent;
  return { text: `${isOdd ? 'Does not fit' : 'Fits'} the others: ${percentText(percent)}`, isOdd };
}

/**
 * Returns the text of a warning, with photos and faces named as on the page. `image2`: name of the second
 * photo.
 */
export function warningText({ code, field, index, face_index, detail }: Warning, image2 = 'photo 2'): string {
  if (code !== 'not_the_largest_face') return capital(plainText(detail));
  if (index === undefined) return notLargestText(field === 'image2' ? image2 : 'photo 1');
  return betterFaceText(photoNames(`${field}[${index}]`), `face ${face_index! + 1}`);
}

/** Replaces the names of request fields in a text of the API, and removes the backticks. */
export function plainText(text: string): string {
  return photoNames(text)
    .replaceAll('`', '')
    .replaceAll(/\bphotos of image([12])\b/g, 'photos of person $1')
    .replaceAll(/\bimage([12])\b/g, 'photo $1')
    .replaceAll(/\b[a-z]+(?:_[a-z0-9]+)+\b/g, (name) => name.replaceAll('_', ' '));
}

/** Formats a size: a whole number of MiB as "10 MiB"; any other size in MB, kB or bytes. */
export function bytesText(bytes: number): string {
  const MiB = 1024 * 1024;
  if (bytes >= MiB && bytes % MiB === 0) return `${bytes / MiB} MiB`;
  if (bytes >= 1e6) return `${(bytes / 1e6).toFixed(1)} MB`;
  return bytes >= 1000 ? `${Math.round(bytes / 1000)} kB` : count(bytes, 'byte');
}

export type Photos = readonly { name: string; file: File | undefined }[];

/** Returns the request as a shell command. The key is not in it, because a shell keeps a history. */
export function curlLine(origin: string, { path, fields }: Plan, photos: Photos): string {
  const files = photos.flatMap(({ name, file }) => (file ? [`${name}=@${formFile(file.name)}`] : []));
  const texts = Object.entries(fields).map(([name, text]) => `${name}=${text}`);
  const parts = [...files, ...texts].map((part) => `-F ${shellWord(part)}`);
  return ['curl -H "x-api-key: $FACEMATCH_KEY"', ...parts, shellWord(origin + path)].join(' \\\n  ');
}

/** curl(1), --form: a name with a comma or semicolon must be in double quotes. */
function formFile(name: string): string {
  return /[,;"\\]/.test(name) ? `"${name.replaceAll(/["\\]/g, '\\$&')}"` : name;
}

/** POSIX shell, section 2.2.2: single quotes protect every character but the single quote. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
