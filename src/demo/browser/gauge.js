import { element, place } from './dom.js';
import { percentText, strangersAlike } from './words.js';

/** Percentages that stand under the scale, each with how many strangers there are to one that scores as high. */
const marks = /** @type {const} */ ([
  [40, '10'],
  [50, '100'],
  [60, '1,000'],
  [70, '10,000'],
  [80, '100,000'],
  [90, '1 million'],
]);

/**
 * The percentage on its scale with the threshold.
 * @param {import('./types.ts').Answer} answer
 */
export function gauge(answer) {
  const { confidence_percent, threshold_percent, match } = answer;
  const scale = element(
    'div',
    { className: 'scale', ariaHidden: 'true' },
    element('div', { className: 'value' }),
    element('div', { className: 'needle' }),
    element('div', { className: 'needle-label' }, `threshold ${percentText(threshold_percent)}`),
    ...marks.map(([percent, strangers]) => {
      const mark = element(
        'div',
        { className: 'mark' },
        element('b', {}, percentText(percent)),
        element('span', {}, '1 in'),
        element('span', {}, strangers),
      );
      place(mark, { at: percent / 100 });
      return mark;
    }),
  );
  const meter = element('div', {
    className: match ? 'gauge match' : 'gauge',
    role: 'meter',
    ariaLabel: 'Confidence',
    ariaValueMin: '0',
    ariaValueMax: '100',
    ariaValueNow: String(confidence_percent),
    ariaValueText: `${percentText(confidence_percent)}, ${strangersAlike(answer)} strangers; the threshold is ${percentText(threshold_percent)}`,
  });
  place(meter, { value: confidence_percent / 100, threshold: threshold_percent / 100 });
  meter.append(scale);
  return meter;
}
