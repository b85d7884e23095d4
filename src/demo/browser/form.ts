import type { ValueRule } from '../../endpoints/options.ts';
import { percentText, thresholdText } from '../../words/score.ts';
import { byId, element, find, settings } from './dom.ts';
import type { Fields } from './types.ts';
import { capital, plainText } from './words.ts';

/** The options that are sent with the photos, with the rules and descriptions of the API. */

export const form = find(document, '#form', HTMLFormElement);

/** Without the advanced endpoint, only the threshold can be set. */
const advanced = settings.paths.match_advanced !== undefined;
const rules: Readonly<Record<string, ValueRule>> = {
  threshold_percent: settings.threshold_percent,
  ...(advanced ? { accuracy_mode: settings.accuracy_mode, ...settings.options } : {}),
};

/** Labels of the options. The page shows the API's description below each label. */
const labels: Readonly<Record<string, string>> = {
  use_heuristic_fallback: 'Extra detection passes',
  min_det_score: 'Minimum detection score',
  auto_pair_best: 'Compare every face with every face',
  reject_low_quality: 'Reject low-quality faces',
};

/** Fills the form. `onChange` is called when a value changes. */
export function showForm(onChange: () => void): void {
  showThreshold();
  showModes();
  byId('more').hidden = !advanced;
  byId('options').append(...Object.entries(settings.options).map(([name, rule]) => optionView(name, rule)));
  form.addEventListener('input', ({ target }) => {
    if (target instanceof HTMLInputElement && target.name in rules) onChange();
  });
}

/** Returns the values of the form for a request: the threshold, and every option that differs from its default. */
export function chosenFields(): Fields {
  const data = new FormData(form);
  const chosen = Object.entries(rules).flatMap(([name, rule]) => {
    const text = rule.kind === 'boolean' ? String(data.has(name)) : String(data.get(name) ?? '').trim();
    const isSet = text !== '' && text !== String(rule.default);
    return isSet || name === 'threshold_percent' ? [[name, text]] : [];
  });
  return Object.fromEntries(chosen);
}

function showThreshold(): void {
  const { min, max, default: value } = settings.threshold_percent;
  const slider = find(form, '#threshold', HTMLInputElement);
  Object.assign(slider, { min, max, defaultValue: value });
  const describe = () => {
    const percent = percentText(Number(slider.value));
    const words = thresholdText(Number(slider.value));
    byId('threshold-value').textContent = percent;
    byId('threshold-hint').textContent = capital(words);
    slider.setAttribute('aria-valuetext', `${percent}: ${words}`);
  };
  slider.addEventListener('input', describe);
  describe();
}

/** Shows the modes, with the default first. */
function showModes(): void {
  const { values, default: usual, description } = settings.accuracy_mode;
  byId('mode-field').hidden = !advanced;
  byId('mode-hint').textContent = capital(plainText(description));
  for (const value of [usual, ...values.filter((other) => other !== usual)]) {
    const radio = { type: 'radio', name: 'accuracy_mode', value, defaultChecked: value === usual };
    byId('modes').append(element('label', {}, element('input', radio), element('span', {}, capital(value))));
  }
}

function optionView(name: string, rule: ValueRule): HTMLElement {
  const control = controlOf(rule);
  const hint = element(
    'p',
    { className: 'hint', id: `${name}-hint` },
    `${capital(plainText(rule.description))}.`,
  );
  control.setAttribute('name', name);
  control.setAttribute('aria-describedby', hint.id);
  const title = element('span', {}, labels[name] ?? name);
  return element(
    'div',
    { className: 'field' },
    element('label', { className: rule.kind }, control, title),
    hint,
  );
}

function controlOf(rule: ValueRule): HTMLElement {
  switch (rule.kind) {
    case 'boolean':
      return element('input', { type: 'checkbox', defaultChecked: rule.default });
    case 'choice':
      return element('select', {}, ...rule.values.map((value) => element('option', { value }, value)));
    default:
      // A number input would hide text that it cannot parse, and the server would not report the error.
      return element('input', {
        type: 'text',
        inputMode: 'decimal',
        placeholder: rule.default === undefined ? 'default of the model pack' : String(rule.default),
      });
  }
}
