import { count } from '../../words/score.ts';
import { byId, element, settings } from './dom.ts';
import type { ProblemResponse } from './types.ts';
import { bytesText, capital, plainText } from './words.ts';

/** Formats additional members of a problem as text. */
// biome-ignore lint/suspicious/noExplicitAny: each member has its own type
const extras: Readonly<Record<string, (value: any) => string>> = {
  limit_bytes: (limit) => `The limit is ${bytesText(limit)}.`,
  limit_pixels: (limit) => `The limit is ${limit / 1e6} megapixels.`,
  faces_found: (faces) => `${count(faces, 'face')} found.`,
};

let clock: ReturnType<typeof setInterval> | undefined;

/** Shows a problem with the API's texts, and a button to try again after Retry-After. */
export function showProblem(
  problem: ProblemResponse,
  retry_after_s: number | undefined,
  retry: () => void,
): void {
  const extraTexts = Object.entries(extras).flatMap(([name, words]) =>
    name in problem ? [words(problem[name])] : [],
  );
  byId('problem').hidden = false;
  byId('problem-text').replaceChildren(
    element('h2', {}, problem.title),
    element('p', {}, detailOf(problem, extraTexts)),
    sourceOf(problem),
  );
  // The button is outside the text that screen readers announce, because its label changes every second.
  if (retry_after_s !== undefined) byId('problem-actions').append(retryButton(retry_after_s, retry));
}

function detailOf({ detail }: ProblemResponse, extraTexts: readonly string[]): string {
  return capital(plainText([detail, ...extraTexts].join(' ')));
}

export function clearProblem(): void {
  clearInterval(clock);
  byId('problem').hidden = true;
  byId('problem-text').replaceChildren();
  byId('problem-actions').replaceChildren();
}

/** Returns the names of the controls that the problem concerns. */
export function fieldsOf({ code, field, errors = [] }: ProblemResponse): string[] {
  if (['missing_api_key', 'invalid_api_key', 'forbidden_scope'].includes(code)) return ['x-api-key'];
  return field === undefined ? errors.map((error) => error.field) : [field];
}

/** Returns a line for developers and operators: status, code, request id and a link to the explanation of the code. */
function sourceOf({ status, code, request_id, type }: ProblemResponse): HTMLElement {
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
