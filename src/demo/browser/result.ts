import {
  comparedText,
  count,
  percentText,
  rangeNote,
  type Scored,
  shareOfPairs,
  thresholdText,
  verdictText,
} from '../../words/score.ts';
import { byId, element, place } from './dom.ts';
import { detailsOf } from './faces.ts';
import type {
  DetectResponse,
  FoundImage,
  ManyResponse,
  MatchResponse,
  Pair,
  PersonResponse,
  Warning,
} from './types.ts';
import { capital, plainText, warningText } from './words.ts';

/** Shows the response of a match. `images`: the previews; `round_trip_ms`: the time that the browser waited. */
export function showResult(
  response: MatchResponse | PersonResponse,
  round_trip_ms: number,
  images: readonly [HTMLImageElement, HTMLImageElement],
): void {
  const { match, warnings } = response;
  const [image1, image2] = 'pairs' in response ? [response.image1, response.image2] : firstPhotos(response);
  byId('verdict').textContent = verdictText(match);
  byId('percent').textContent = percentText(response.confidence_percent);
  byId('summary').textContent = `${summaryOf(response)}.`;
  byId('result').classList.toggle('match', match);
  byId('face1').replaceChildren(thumbnail(images[0], image1, image1.face_index));
  byId('face2').replaceChildren(thumbnail(images[1], image2, image2.face_index));
  showGauge(response);
  byId('meaning').textContent = meaning(response);
  byId('warnings').replaceChildren(...warnings.map((warning) => element('li', {}, warningText(warning))));
  byId('pairs-card').hidden = !('pairs' in response);
  byId('pairs').replaceChildren(...('pairs' in response ? pairTable(response, images) : []));
  byId('timings').replaceChildren(timingTable(response.timings_ms, round_trip_ms));
  byId('result').hidden = false;
}

/** Returns the first photo of each person, which the page shows in full size. */
export const firstPhotos = ({ image1, image2 }: PersonResponse) => [image1[0]!, image2[0]!] as const;

/** Returns the text that announces the response to screen readers. */
export function announcement(response: MatchResponse | PersonResponse): string {
  const what = 'pairs' in response ? count(response.pairs_compared, 'pair') : photosOf(response);
  return `${verdictText(response.match)} (${comparedText(response)}). ${summaryOf(response)}. ${capital(what)} compared.`;
}

/** Returns the score as one sentence without its full stop. */
function summaryOf(scored: Scored): string {
  const note = rangeNote(scored);
  return `${capital(shareOfPairs(scored))} look this alike${note && ` (${note})`}`;
}

const photosOf = ({ photos_compared: { image1, image2 } }: PersonResponse) =>
  `${count(image1, 'photo')} of person 1 and ${image2} of person 2`;

/** Shows the percentage on a scale with the threshold. */
function showGauge(response: MatchResponse | PersonResponse): void {
  const { confidence_percent, threshold_percent } = response;
  const threshold = percentText(threshold_percent);
  byId('threshold-label').textContent = `threshold ${threshold}`;
  place(byId('gauge'), { value: confidence_percent / 100, threshold: threshold_percent / 100 });
  Object.assign(byId('gauge'), {
    role: 'meter',
    ariaLabel: 'Confidence',
    ariaValueMin: '0',
    ariaValueMax: '100',
    ariaValueNow: String(confidence_percent),
    ariaValueText: `${comparedText(response)}. ${summaryOf(response)}`,
  });
}

/** Returns the text below "Why?". */
function meaning(response: MatchResponse | PersonResponse): string {
  const { threshold_percent, accuracy_mode } = response;
  const basis =
    'pairs' in response
      ? ` ${count(response.pairs_compared, 'pair')} of faces compared${response.pairs_compared > 1 ? '; the percent is corrected for their number' : ''}.`
      : ` One decision for ${photosOf(response)}.`;
  return (
    'The percent is a log scale of the false match rate: 10 points more mean 10 times fewer false matches. It is not the ' +
    `probability that both photos show the same person. At the threshold of ${percentText(threshold_percent)}, ` +
    `${thresholdText(threshold_percent)}.${basis} Accuracy mode: ${accuracy_mode}.`
  );
}

/** Number of rows shown at first, because two photos with a hundred faces each have 10,000 pairs. */
const rowsAtFirst = 6;

/** Lists the compared pairs, best first as in the response. */
function pairTable(
  response: MatchResponse,
  [one, two]: readonly [HTMLImageElement, HTMLImageElement],
): HTMLElement[] {
  const { image1, image2, pairs } = response;
  const cellOf = (image: HTMLImageElement, found: FoundImage, index: number) => {
    const face = [thumbnail(image, found, index), `Face ${index + 1}`];
    return element('td', {}, element('div', { className: 'cell' }, ...face));
  };
  const rowOf = ({ image1_face_index, image2_face_index, similarity, confidence_percent }: Pair) => {
    const faces = [cellOf(one, image1, image1_face_index), cellOf(two, image2, image2_face_index)];
    const digits = [similarity.toFixed(4), percentText(confidence_percent)].map((text) =>
      element('td', { className: 'digits' }, text),
    );
    return element('tr', {}, ...faces, ...digits);
  };
  const titles = ['Photo 1', 'Photo 2', 'Cosine', 'Confidence'];
  const table = tableOf(titles, pairs.slice(0, rowsAtFirst).map(rowOf));
  const rest = pairs.slice(rowsAtFirst);
  if (rest.length === 0) return [table];
  const label = `Show ${count(rest.length, 'more pair')}`;
  const more = element('button', { type: 'button', className: 'plain' }, label);
  more.addEventListener('click', () => {
    table.tBodies[0]!.append(...rest.map(rowOf));
    more.remove();
  });
  return [table, more];
}

/**
 * Returns a table with the sum of each stage over all photos, and then the two total times. The stages of two photos
 * may run in parallel, so the sums may exceed the totals.
 */
function timingTable(
  { total, ...stages_ms }: Readonly<Record<string, number>> & { total: number },
  round_trip_ms: number,
): HTMLElement {
  const max_ms = Math.max(...Object.values(stages_ms));
  const rows = Object.entries(stages_ms).map(([stage, ms]) => {
    const bar = element('td', { className: 'bar' });
    place(bar, { value: max_ms > 0 ? ms / max_ms : 0 });
    const name = element('th', { scope: 'row' }, capital(stage));
    return element('tr', {}, name, element('td', { className: 'digits' }, `${ms.toFixed(1)} ms`), bar);
  });
  const totals = { 'Server, last byte to response': total, 'Browser, request to response': round_trip_ms };
  const totalRows = Object.entries(totals).map(([name, ms]) => {
    const time = element('td', { className: 'digits', colSpan: 2 }, `${ms.toFixed(1)} ms`);
    return element('tr', {}, element('th', { scope: 'row' }, name), time);
  });
  return element(
    'table',
    {},
    element('tbody', {}, ...rows),
    element('tbody', { className: 'totals' }, ...totalRows),
  );
}

/** Margin around a face as a share of its box. */
const margin = 0.2;
/** Side of the canvas in pixels: about twice its size on the page, for high-resolution screens. */
const sidePixels = 128;

/** Returns a square crop of a preview around a face; empty if there is no preview. */
export function thumbnail(
  image: HTMLImageElement,
  { width, height, faces }: Omit<FoundImage, 'face_index'>,
  index: number,
): HTMLCanvasElement {
  const canvas = element('canvas', { width: sidePixels, height: sidePixels, className: 'thumbnail' });
  const box = faces[index]?.box;
  if (box === undefined || image.naturalWidth === 0) return canvas;
  const side = Math.max(box.width, box.height) * (1 + 2 * margin);
  // A preview may be smaller than the photo.
  const [across, down] = [image.naturalWidth / width, image.naturalHeight / height];
  const left = (box.x + box.width / 2 - side / 2) * across;
  const top = (box.y + box.height / 2 - side / 2) * down;
  const context = canvas.getContext('2d');
  context?.drawImage(image, left, top, side * across, side * down, 0, 0, sidePixels, sidePixels);
  return canvas;
}

/** Shows the results of one photo against many, best first. `targets`: their previews. Returns the text to announce. */
export function showMany(response: ManyResponse, targets: readonly { image: HTMLImageElement }[]): string {
  const { results, matches, warnings } = response;
  const percentOf = (result: ManyResponse['results'][number]) =>
    'match' in result ? result.confidence_percent : -1;
  const rows = results
    .toSorted((a, b) => percentOf(b) - percentOf(a))
    .map((result) => {
      const name = element('th', { scope: 'row' }, result.filename ?? `Photo ${result.index + 1}`);
      if ('problem' in result) {
        const { title, detail } = result.problem;
        return rowOf(
          undefined,
          name,
          element('td', {}, '–'),
          foldedCell(`${title}.`, [capital(plainText(detail))]),
        );
      }
      const { image2, match, warnings } = result;
      const target = targets[result.index];
      const face = target && thumbnail(target.image, image2, image2.face_index);
      const percent = element('td', { className: 'digits' }, percentText(result.confidence_percent));
      const details = [`${summaryOf(result)}.`, ...warnings.map((one) => warningText(one, 'this photo'))];
      const row = rowOf(face, name, percent, foldedCell(verdictText(match), details, warnings.length));
      row.classList.toggle('match', match);
      return row;
    });
  const title = `${matches} of ${count(results.length, 'photo')} match`;
  show(title, warnings, ['Face', 'Photo', 'Confidence', 'Result'], rows);
  return `${title}.`;
}

/** Returns a cell that shows one line and folds the details. */
function foldedCell(line: string, details: readonly string[], warnings = 0): HTMLElement {
  const title = warnings === 0 ? line : `${line} (${count(warnings, 'warning')})`;
  const text = details.map((one) => element('p', { className: 'hint' }, one));
  return element('td', {}, element('details', {}, element('summary', {}, title), ...text));
}

/** Shows the faces of a photo. `image`: its preview. Returns the text to announce. */
export function showFaces({ image: found, warnings }: DetectResponse, image: HTMLImageElement): string {
  const rows = found.faces.map((face) => {
    const name = element('th', { scope: 'row' }, `Face ${face.index + 1}`);
    const human = face.human_score === undefined ? '–' : face.human_score.toFixed(1);
    return rowOf(
      thumbnail(image, found, face.index),
      name,
      element('td', { className: 'digits' }, human),
      element('td', {}, capital(detailsOf(face))),
    );
  });
  const title = found.faces.length === 0 ? 'No face' : count(found.faces.length, 'face');
  show(title, warnings, ['Face', 'Number', 'Human score', 'Details'], rows);
  return `${title} found.`;
}

function rowOf(face: HTMLElement | undefined, ...cells: HTMLElement[]): HTMLElement {
  return element('tr', {}, element('td', {}, ...(face ? [face] : [])), ...cells);
}

function show(title: string, warnings: readonly Warning[], titles: string[], rows: HTMLElement[]): void {
  byId('list-title').textContent = title;
  byId('list-warnings').replaceChildren(...warnings.map((one) => element('li', {}, warningText(one))));
  byId('list').replaceChildren(...(rows.length > 0 ? [tableOf(titles, rows)] : []));
  byId('list-result').hidden = false;
}

function tableOf(titles: readonly string[], rows: readonly HTMLElement[]): HTMLTableElement {
  const head = element('tr', {}, ...titles.map((title) => element('th', { scope: 'col' }, title)));
  return element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows));
}
