import { element } from './dom.js';
import { thumbnail } from './thumbnail.js';
import { count, percentText } from './words.js';

/** Rows at first: two photos of twenty faces have 400 pairs. */
const few = 6;

/**
 * The compared pairs as a table, best first as the answer has them.
 * @param {import('./types.ts').Answer} answer
 * @param {readonly [HTMLImageElement, HTMLImageElement]} images the previews
 */
export function pairTable({ image1, image2, pairs }, [one, two]) {
  /** @param {import('./types.ts').Pair} pair */
  const rowOf = ({ image1_face_index, image2_face_index, similarity, confidence_percent }) => {
    return element(
      'tr',
      {},
      faceCell(thumbnail(one, image1, image1_face_index), image1_face_index),
      faceCell(thumbnail(two, image2, image2_face_index), image2_face_index),
      element('td', { className: 'digits' }, similarity.toFixed(4)),
      element('td', { className: 'percent' }, percentText(confidence_percent)),
    );
  };
  const body = element('tbody', {}, ...pairs.slice(0, few).map(rowOf));
  const titles = ['Photo 1', 'Photo 2', 'Cosine', 'Confidence'];
  const head = element('tr', {}, ...titles.map((title) => element('th', { scope: 'col' }, title)));
  const table = element('table', {}, element('thead', {}, head), body);
  const rest = pairs.slice(few);
  if (rest.length === 0) return [table];
  const more = element(
    'button',
    { type: 'button', className: 'plain' },
    `Show ${count(rest.length, 'more pair')}`,
  );
  more.addEventListener('click', () => {
    body.append(...rest.map(rowOf));
    more.remove();
  });
  return [table, more];
}

/**
 * @param {HTMLElement} picture
 * @param {number} index
 */
function faceCell(picture, index) {
  return element('td', {}, element('div', { className: 'cell' }, picture, `Face ${index + 1}`));
}
