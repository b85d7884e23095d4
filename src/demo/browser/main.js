import { Camera } from './camera.js';
import { copyButtons } from './copy.js';
import { curlLine } from './curl.js';
import { byId, element, find, tell } from './dom.js';
import { Faces } from './faces.js';
import { takeIn } from './intake.js';
import { Join } from './join.js';
import { chosenFields, showOptions } from './options.js';
import { PhotoSlot } from './photo-slot.js';
import { clearProblem, fieldsOf, showProblem } from './problem.js';
import { planOf, send } from './request.js';
import { announcement, showResult } from './result.js';
import { settings } from './settings.js';

/** The page: what happens when, and what is remembered between two requests. None of it outlives the page. */

/** @typedef {import('./types.ts').Outcome} Outcome */

const form = find(document, '#form', HTMLFormElement);
const key = find(document, '#key', HTMLInputElement);
const slots = /** @type {const} */ ([new PhotoSlot(1), new PhotoSlot(2)]);
const faces = slots.map((slot, i) => new Faces(slot, (index) => choose(i, index)));
const join = new Join(() => faces.map(({ compared }) => compared));
const camera = new Camera();

/** The faces that were clicked. @type {import('./types.ts').Choice} */
let chosen = [-1, -1];
/** Endpoints that the key may not use, as the server said. @type {Set<string>} */
const refused = new Set();
/** @type {AbortController | undefined} */
let running;

for (const slot of slots) {
  slot.addEventListener('change', forget);
  slot.addEventListener('camera', () => {
    if (!Camera.available) return slot.capture.click();
    void camera.open(`Photo ${slot.number}`, (photo) => slot.show(photo));
  });
}
takeIn(slots);
showOptions(() => tell(byId('stale'), 'You changed something since: compare again for an answer to that.'));
copyButtons();
showLinks();
key.addEventListener('input', () => refused.clear());
byId('show-key').addEventListener('click', ({ currentTarget }) => {
  const shown = key.type === 'password';
  key.type = shown ? 'text' : 'password';
  if (currentTarget instanceof HTMLElement) currentTarget.ariaPressed = String(shown);
});
byId('cancel').addEventListener('click', () => running?.abort());
byId('unchoose').addEventListener('click', () => {
  setChosen([-1, -1]);
  byId('compare').focus();
  void compare();
});
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  if (await compare()) reveal(byId('result'));
});

/** Sends what the form holds and shows what comes of it; true for an answer. Whatever still runs is given up. */
async function compare() {
  running?.abort();
  clearFaults();
  const plan = planOf({ ...chosenFields(), ...chosenFaces() }, refused);
  if (plan === undefined) return fail({ problem: allOff, retry_after_s: undefined });
  const mine = new AbortController();
  running = mine;
  busy(true);
  const outcome = await send(plan, key.value.trim(), slots, mine.signal);
  // A newer request has taken over.
  if (running !== mine) return false;
  running = undefined;
  busy(false);
  if (mine.signal.aborted) {
    say('Cancelled.');
    return false;
  }
  if ('problem' in outcome && outcome.problem.code === 'forbidden_scope' && !refused.has(plan.endpoint)) {
    // The other endpoint may answer the same.
    refused.add(plan.endpoint);
    if (planOf(plan.fields, refused)?.endpoint !== plan.endpoint) return compare();
  }
  byId('curl').textContent = curlLine(location.origin, plan, slots);
  byId('json').textContent = JSON.stringify('answer' in outcome ? outcome.answer : outcome.problem, null, 2);
  byId('exchange').hidden = false;
  return 'answer' in outcome ? succeed(outcome) : fail(outcome);
}

/** @param {Extract<Outcome, { answer: unknown }>} outcome */
function succeed({ answer, round_trip_ms }) {
  showResult(answer, round_trip_ms, [slots[0].image, slots[1].image]);
  tell(byId('stale'), undefined);
  faces[0]?.show(answer.image1);
  faces[1]?.show(answer.image2);
  setChosen(chosen);
  join.draw();
  say(announcement(answer));
  return true;
}

/** @param {Extract<Outcome, { problem: unknown }>} outcome */
function fail({ problem, retry_after_s }) {
  byId('result').hidden = true;
  showProblem(problem, retry_after_s, () => void compare());
  const names = fieldsOf(problem);
  for (const slot of slots) slot.mark(names.includes(slot.name) ? problem.title : undefined);
  const controls = names.map((name) => form.querySelector(`[name="${CSS.escape(name)}"]`));
  for (const control of controls) {
    control?.setAttribute('aria-invalid', 'true');
    control?.setAttribute('aria-errormessage', 'problem-text');
  }
  if (controls[0] instanceof HTMLElement) controls[0].focus({ preventScroll: true });
  reveal(byId('problem'));
  return false;
}

const allOff = {
  code: 'endpoint_disabled',
  title: 'This endpoint is switched off',
  detail: 'Both match endpoints are switched off on this server.',
};

/** Another photo: what was found belongs to the one before. */
function forget() {
  running?.abort();
  clearFaults();
  setChosen([-1, -1]);
  for (const overlay of faces) overlay.clear();
  join.draw();
  byId('result').hidden = true;
  byId('exchange').hidden = true;
}

function clearFaults() {
  clearProblem();
  for (const slot of slots) slot.mark(undefined);
  for (const control of form.querySelectorAll('[aria-invalid="true"]'))
    control.removeAttribute('aria-invalid');
}

/**
 * A face was clicked: it is chosen, or no longer. Once there is one in each photo, these two are compared.
 * @param {number} photo 0 or 1
 * @param {number} index
 */
function choose(photo, index) {
  if (settings.paths.match_advanced === undefined) return;
  const [one, two] = chosen;
  const toggled = chosen[photo] === index ? -1 : index;
  setChosen(photo === 0 ? [toggled, two] : [one, toggled]);
  if (toggled !== -1 && !chosen.includes(-1)) void compare();
}

/** @param {import('./types.ts').Choice} faces_chosen */
function setChosen(faces_chosen) {
  chosen = faces_chosen;
  for (const [i, overlay] of faces.entries()) overlay.press(chosen[i] ?? -1);
  const words = chosen.flatMap((index, i) => (index === -1 ? [] : [`face ${index + 1} of photo ${i + 1}`]));
  byId('chosen').hidden = words.length === 0;
  const rest = words.length === 1 ? ` Choose one in photo ${chosen[0] === -1 ? 1 : 2} as well.` : '';
  byId('chosen-text').textContent = `Chosen: ${words.join(' and ')}.${rest}`;
  if (rest !== '') say(byId('chosen-text').textContent);
}

/** @returns {import('./types.ts').Fields} */
function chosenFaces() {
  const names = /** @type {const} */ (['image1_face_index', 'image2_face_index']);
  return Object.fromEntries(
    names.flatMap((name, i) => (chosen[i] === -1 ? [] : [[name, String(chosen[i])]])),
  );
}

/** @param {boolean} now */
function busy(now) {
  // Not disabled: that would take the focus away from who works by keyboard.
  byId('compare').ariaDisabled = String(now);
  byId('compare').textContent = now ? 'Comparing…' : 'Compare';
  byId('cancel').hidden = !now;
  byId('outcome').ariaBusy = String(now);
  if (now) say('Comparing.');
}

/** On a phone, what comes of a request is below the fold. @param {HTMLElement} target */
function reveal(target) {
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  target.scrollIntoView({ block: 'nearest', behavior: calm ? 'auto' : 'smooth' });
}

/** To who listens to the page. @param {string | null} text */
function say(text) {
  byId('status').textContent = text;
}

function showLinks() {
  const titles = /** @type {const} */ ({ docs: 'Documentation', openapi: 'OpenAPI' });
  for (const [id, title] of Object.entries(titles)) {
    const href = settings.paths[/** @type {keyof typeof titles} */ (id)];
    if (href !== undefined) byId('links').append(element('a', { href }, title));
  }
}
