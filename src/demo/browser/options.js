import { byId, element, find } from './dom.js';
import { settings } from './settings.js';
import { capital, fieldLabel, percentText, thresholdWords } from './words.js';

/** The settings that go with the photos, with the rules and descriptions of the server's own table of fields. */

/** @typedef {import('../../http/fields.ts').NumberRule} NumberRule */
/** @typedef {import('../../http/fields.ts').ChoiceRule} ChoiceRule */

const form = find(document, '#form', HTMLFormElement);

/** Without the advanced endpoint, the threshold alone can be set. */
const advanced = settings.paths.match_advanced !== undefined;
/** @type {Readonly<Record<string, NumberRule | ChoiceRule>>} */
const rules = {
  threshold_percent: settings.threshold_percent,
  ...(advanced ? { accuracy_mode: settings.accuracy_mode, ...settings.options } : {}),
};

/**
 * Fills the form.
 * @param {() => void} onChange a value is another
 */
export function showOptions(onChange) {
  showThreshold();
  showModes();
  byId('more').hidden = !advanced;
  byId('options').append(...Object.entries(settings.options).map(([name, rule]) => optionView(name, rule)));
  form.addEventListener('input', ({ target }) => {
    if (target instanceof HTMLInputElement && target.name in rules) onChange();
  });
}

/**
 * What the form says, as texts for a request: the threshold, and what is not as by default. An empty number is the
 * default, be it the model pack's own.
 * @returns {import('./types.ts').Fields}
 */
export function chosenFields() {
  const data = new FormData(form);
  const chosen = Object.entries(rules).flatMap(([name, rule]) => {
    const text = rule.kind === 'boolean' ? String(data.has(name)) : String(data.get(name) ?? '').trim();
    const said = text !== '' && text !== String(rule.default);
    return said || name === 'threshold_percent' ? [[name, text]] : [];
  });
  return Object.fromEntries(chosen);
}

function showThreshold() {
  const { min, max, default: value } = settings.threshold_percent;
  const slider = Object.assign(find(form, '#threshold', HTMLInputElement), { min, max });
  slider.defaultValue = String(value);
  const describe = () => {
    const percent = percentText(Number(slider.value));
    byId('threshold-value').textContent = percent;
    const words = thresholdWords(Number(slider.value));
    byId('threshold-hint').textContent = capital(words);
    slider.setAttribute('aria-valuetext', `${percent}: ${words}`);
  };
  slider.addEventListener('input', describe);
  describe();
}

function showModes() {
  const { values, default: usual, description } = settings.accuracy_mode;
  byId('mode-field').hidden = !advanced;
  byId('mode-hint').textContent = capital(description);
  const segments = values.map((value) => {
    const radio = { type: 'radio', name: 'accuracy_mode', value, defaultChecked: value === usual };
    return element('label', {}, element('input', radio), element('span', {}, capital(value)));
  });
  // The default first: it is what most should take.
  byId('modes').append(...segments.sort((a, b) => Number(isUsual(b)) - Number(isUsual(a))));
}

/** @param {HTMLElement} segment */
const isUsual = (segment) => find(segment, 'input', HTMLInputElement).defaultChecked;

/**
 * @param {string} name
 * @param {NumberRule | ChoiceRule} rule
 */
function optionView(name, rule) {
  const hint = element('p', { className: 'hint', id: `${name}-hint` }, rule.description);
  const control = controlOf(rule);
  control.setAttribute('name', name);
  control.setAttribute('aria-describedby', hint.id);
  const label = element('label', { className: rule.kind }, control, element('span', {}, fieldLabel(name)));
  return element('div', { className: 'field' }, label, hint);
}

/** @param {NumberRule | ChoiceRule} rule */
function controlOf(rule) {
  switch (rule.kind) {
    case 'boolean':
      return element('input', { type: 'checkbox', defaultChecked: rule.default === 'true' });
    case 'choice':
      return element('select', {}, ...rule.values.map((value) => element('option', { value }, value)));
    default:
      // Text and not a number input, which would keep what it cannot read to itself: the server says what it expects.
      return element('input', {
        type: 'text',
        inputMode: 'decimal',
        placeholder: rule.default === undefined ? "the model pack's own" : String(rule.default),
      });
  }
}
