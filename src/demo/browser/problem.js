import { byId, element } from './dom.js';
import { settings } from './settings.js';
import { bytesText, count } from './words.js';

/** @typedef {import('./types.ts').Problem} Problem */

/** Members beside the standard ones → how they are told. @type {Readonly<Record<string, (value: any) => string>>} */
const extras = {
  required_scope: (scope) => `The key lacks the scope ${scope}.`,
  detected: (format) => `It looks like ${format}.`,
  limit_bytes: (limit) => `The limit is ${bytesText(limit)}.`,
  limit_pixels: (limit) => `The limit is ${limit / 1e6} megapixels.`,
  faces_found: (faces) => `${count(faces, 'face')} found.`,
};

/** Codes that are about the key, which is no form field. */
const ofKey = ['missing_api_key', 'invalid_api_key', 'forbidden_scope'];

/** @type {ReturnType<typeof setInterval> | undefined} */
let clock;

/**
 * Shows a problem as the server words it.
 * @param {Problem} problem
 * @param {number | undefined} retry_after_s
 * @param {() => void} retry
 */
export function showProblem(problem, retry_after_s, retry) {
  const { title, detail } = problem;
  const told = Object.entries(extras).flatMap(([member, tell]) =>
    member in problem ? [tell(problem[member])] : [],
  );
  const parts = [
    element('h2', {}, title),
    element('p', { id: 'problem-detail' }, [detail, ...told].join(' ')),
    source(problem),
  ];
  byId('problem').hidden = false;
  byId('problem-text').replaceChildren(...parts);
  // Outside the text that is read out: it changes every second.
  byId('problem-actions').replaceChildren(
    ...(retry_after_s === undefined ? [] : [retryButton(retry_after_s, retry)]),
  );
}

export function clearProblem() {
  clearInterval(clock);
  byId('problem').hidden = true;
  byId('problem-text').replaceChildren();
  byId('problem-actions').replaceChildren();
}

/**
 * Names of the controls that the problem is about.
 * @param {Problem} problem
 */
export function fieldsOf({ code, field, errors = [] }) {
  if (ofKey.includes(code)) return ['x-api-key'];
  return field === undefined ? errors.map((error) => error.field) : [field];
}

/** For programs and operators: status, code, id, and where the code is explained. @param {Problem} problem */
function source({ status, code, request_id, type }) {
  const line = element('p', { className: 'source' });
  const code_text = element('code', {}, code);
  line.append(status === undefined ? '' : `HTTP ${status} `, code_text);
  if (request_id !== undefined) line.append(', request ', element('code', {}, request_id));
  if (type !== undefined && settings.paths.docs !== undefined) {
    line.append(' · ', element('a', { href: type, target: '_blank' }, 'What this means'));
  }
  return line;
}

/**
 * Counts down to the time that Retry-After tells.
 * @param {number} seconds
 * @param {() => void} retry
 */
function retryButton(seconds, retry) {
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
