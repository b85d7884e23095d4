import { byId, element, settings } from './dom.ts';
import type { ProblemAnswer } from './types.ts';
import { bytesText, capital, count, disagreementWords, photoWords } from './words.ts';

/** Further members of a problem → their text. */
// biome-ignore lint/suspicious/noExplicitAny: each member has a type of its own
const extras: Readonly<Record<string, (value: any) => string>> = {
  required_scope: (scope) => `The key lacks the scope ${scope}.`,
  limit_bytes: (limit) => `The limit is ${bytesText(limit)}.`,
  limit_pixels: (limit) => `The limit is ${limit / 1e6} megapixels.`,
  faces_found: (faces) => `${count(faces, 'face')} found.`,
};

const text = 'is text and not a photo. Choose a JPEG, PNG or WebP.';

/** In place of the server's words, which are for programs: what `detected` says of a file, and what helps. */
const notPhotos: Readonly<Record<string, string>> = {
  heic: 'is a HEIC photo, as iPhones take them. Share or export it as JPEG, and choose that.',
  ...Object.fromEntries(
    ['text', 'html', 'base64', 'data_url', 'url', 'path', 'jpeg_as_text'].map((detected) => [detected, text]),
  ),
};

/** The text without the names of a request's fields and the marks around them. */
export function plainWords(text: string): string {
  return photoWords(text)
    .replaceAll('`', '')
    .replaceAll(/\bimage([12])\b/g, 'photo $1')
    .replaceAll(/\b[a-z]+(?:_[a-z0-9]+)+\b/g, (name) => name.replaceAll('_', ' '));
}

let clock: ReturnType<typeof setInterval> | undefined;

/** Shows a problem with the server's texts, and a button to try again after the seconds of Retry-After. */
export function showProblem(
  problem: ProblemAnswer,
  retry_after_s: number | undefined,
  retry: () => void,
): void {
  const told = Object.entries(extras).flatMap(([name, words]) =>
    name in problem ? [words(problem[name])] : [],
  );
  byId('problem').hidden = false;
  byId('problem-text').replaceChildren(
    element('h2', {}, problem.title),
    element('p', {}, detailOf(problem, told)),
    sourceOf(problem),
  );
  // Outside the announced text, because it changes every second.
  if (retry_after_s !== undefined) byId('problem-actions').append(retryButton(retry_after_s, retry));
}

function detailOf(problem: ProblemAnswer, told: readonly string[]): string {
  const { code, field = 'photo', errors = [] } = problem;
  if (code === 'photos_disagree') return disagreementWords(errors as { field: string; index: number }[]);
  const words = notPhotos[String(problem.detected)];
  const index = errors[0]?.index;
  const about = capital(plainWords(index === undefined ? field : `${field}[${index}]`));
  return words === undefined ? plainWords([problem.detail, ...told].join(' ')) : `${about} ${words}`;
}

export function clearProblem(): void {
  clearInterval(clock);
  byId('problem').hidden = true;
  byId('problem-text').replaceChildren();
  byId('problem-actions').replaceChildren();
}

/** Names of the controls that the problem is about. */
export function fieldsOf({ code, field, errors = [] }: ProblemAnswer): string[] {
  if (['missing_api_key', 'invalid_api_key', 'forbidden_scope'].includes(code)) return ['x-api-key'];
  return field === undefined ? errors.map((error) => error.field) : [field];
}

/** Status, code, id, and where the code is explained, for programs and operators. */
function sourceOf({ status, code, request_id, type }: ProblemAnswer): HTMLElement {
  const line = element('p', { className: 'source' });
  line.append(status === undefined ? '' : `HTTP ${status} `, element('code', {}, code));
  if (request_id !== undefined) line.append(', request ', element('code', {}, request_id));
  if (type !== undefined && settings.paths.docs !== undefined) {
    const href = settings.paths.docs + new URL(type, location.href).hash;
    line.append(' · ', element('a', { href, target: '_blank' }, 'What this means'));
  }
  return line;
}

function retryButton(seconds: number, retry: () => void): HTMLButtonElement {
  const button = element('button', { type: 'button', className: 'plain' });
  const due = performance.now() + seconds * 1000;
  const tick = () => {
    const left = Math.max(0, Math.ceil((due - performance.now()) / 1000));
    button.disabled = left > 0;
    button.textContent = left > 0 ? `Try again in ${left} s` : 'Try again';
    if (left === 0) clearInterval(clock);
  };
  clock = setInterval(tick, 250);
  tick();
  button.addEventListener('click', retry);
  return button;
}
