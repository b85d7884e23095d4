import type { ValueRule } from '../../endpoints/options.ts';
import { byId, element, find, settings } from './dom.ts';
import type { Fields } from './types.ts';
import { capital, percentText, thresholdWords } from './words.ts';

/** The settings that are sent with the photos, with the rules and descriptions of the server's table of fields. */

export const form = find(document, '#form', HTMLFormElement);

/** Without the advanced endpoint, only the threshold can be set. */
const advanced = settings.paths.match_advanced !== undefined;
const rules: Readonly<Record<string, ValueRule>> = {
  threshold_percent: settings.threshold_percent,
  ...(advanced ? { accuracy_mode: settings.accuracy_mode, ...settings.options } : {}),
};

/** What a box says when it is ticked, or a field asks for. */
const titles: Readonly<Record<string, string>> = {
  use_heuristic_fallback: 'Look harder where no face is found',
  min_det_score: 'How certain a face must be, from 0 to 1',
  auto_pair_best: 'Compare every face with every face',
  reject_low_quality: 'Refuse a blurred, dark or small face',
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

/**
 * The values of the form as texts for a request: the threshold, and everything that differs from its default. An empty number
 * stands for the default.
 */
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
    const words = thresholdWords(Number(slider.value));
    byId('threshold-value').textContent = percent;
    byId('threshold-hint').textContent = capital(words);
    slider.setAttribute('aria-valuetext', `${percent}: ${words}`);
  };
  slider.addEventListener('input', describe);
  describe();
}

/** The default first: it suits most people. */
function showModes(): void {
  const { values, default: usual, description } = settings.accuracy_mode;
  byId('mode-field').hidden = !advanced;
  byId('mode-hint').textContent = capital(description);
  for (const value of [usual, ...values.filter((other) => other !== usual)]) {
    const radio = { type: 'radio', name: 'accuracy_mode', value, defaultChecked: value === usual };
    byId('modes').append(element('label', {}, element('input', radio), element('span', {}, capital(value))));
  }
}

function optionView(name: string, rule: ValueRule): HTMLElement {
  const control = controlOf(rule);
  control.setAttribute('name', name);
  const title = element('span', {}, titles[name] ?? rule.description);
  return element('div', { className: 'field' }, element('label', { className: rule.kind }, control, title));
}

function controlOf(rule: ValueRule): HTMLElement {
  switch (rule.kind) {
    case 'boolean':
      return element('input', { type: 'checkbox', defaultChecked: rule.default });
    case 'choice':
      return element('select', {}, ...rule.values.map((value) => element('option', { value }, value)));
    default:
      // Not a number input: it would hide text that it cannot read, and the server says what it expects.
      return element('input', {
        type: 'text',
        inputMode: 'decimal',
        placeholder: rule.default === undefined ? "the model pack's own" : String(rule.default),
      });
  }
}
