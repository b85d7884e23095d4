import { byId, element, place } from './dom.js';
import { gauge } from './gauge.js';
import { pairTable } from './pairs.js';
import { thumbnail } from './thumbnail.js';
import { capital, count, percentText, strangersAlike, thresholdWords } from './words.js';

/** @typedef {import('./types.ts').Answer} Answer */

/**
 * Shows an answer.
 * @param {Answer} answer
 * @param {number} round_trip_ms
 * @param {readonly [HTMLImageElement, HTMLImageElement]} images the previews
 */
export function showResult(answer, round_trip_ms, images) {
  const { match, confidence_percent, image1, image2, warnings } = answer;
  byId('verdict').textContent = verdict(match);
  byId('percent').textContent = percentText(confidence_percent);
  byId('result').classList.toggle('match', match);
  byId('face1').replaceChildren(thumbnail(images[0], image1, image1.face_index));
  byId('face2').replaceChildren(thumbnail(images[1], image2, image2.face_index));
  byId('gauge').replaceChildren(gauge(answer));
  byId('meaning').replaceChildren(...meaning(answer));
  byId('warnings').replaceChildren(...warnings.map((warning) => element('li', {}, warningText(warning))));
  byId('pairs').replaceChildren(...pairTable(answer, images));
  byId('timings').replaceChildren(timings(answer.timings_ms, round_trip_ms));
  byId('result').hidden = false;
}

/** The answer in a sentence, for who does not see it. @param {Answer} answer */
export function announcement(answer) {
  const { match, confidence_percent, pairs_compared } = answer;
  const strangers = `${strangersAlike(answer)} strangers look this alike`;
  return `${verdict(match)}. ${percentText(confidence_percent)}: ${strangers}. ${count(pairs_compared, 'pair')} compared.`;
}

/** @param {boolean} match */
const verdict = (match) => (match ? 'Match' : 'No match');

/** @param {Answer} answer */
function meaning(answer) {
  const { threshold_percent, pairs_compared, accuracy_mode } = answer;
  const share = element('strong', {}, `${capital(strangersAlike(answer))} strangers look this alike.`);
  const threshold = ` At the threshold of ${percentText(threshold_percent)}, ${thresholdWords(threshold_percent)}.`;
  const pairs =
    pairs_compared === 1 ? '' : ` This is the best of ${pairs_compared} pairs, and allows for so many tries.`;
  return [share, `${threshold}${pairs} Accuracy mode: ${accuracy_mode}.`];
}

/**
 * A text, or an object with one for people, which names the field that it is about.
 * @param {unknown} warning
 */
function warningText(warning) {
  if (typeof warning === 'string') return warning;
  const { code = '', detail, message } = /** @type {Record<string, string | undefined>} */ (warning);
  return detail ?? message ?? capital(code.replaceAll('_', ' '));
}

/**
 * The stages of both photos together, which two cores may share: their sum can be more than the time in all.
 * @param {Answer['timings_ms']} timings_ms
 * @param {number} round_trip_ms
 */
function timings(timings_ms, round_trip_ms) {
  const rows = [...Object.entries(timings_ms), /** @type {const} */ (['round trip', round_trip_ms])];
  const longest = Math.max(...rows.map(([, ms]) => ms));
  const body = rows.map(([stage, ms]) => {
    const bar = element('td', { className: 'bar' });
    place(bar, { value: ms / longest });
    const name = element('th', { scope: 'row' }, capital(stage));
    return element('tr', {}, name, element('td', { className: 'digits' }, `${ms.toFixed(1)} ms`), bar);
  });
  return element('table', { className: 'timings' }, element('tbody', {}, ...body));
}
