import { byId, element, Fault, find, makeCopyButtons, notOnDisk, setText, settings } from './dom.ts';
import { showPrograms } from './exchange.ts';
import { Faces } from './faces.ts';
import { chosenFields, form, showForm } from './form.ts';
import { hideLive, runLive, titleOf } from './live.ts';
import { Others, PhotoSlot, takeDroppedAndPasted } from './photos.ts';
import { clearProblem, fieldsOf, showProblem } from './problem.ts';
import { type Photo, planOf, send } from './request.ts';
import { announcement, firstPhotos, showFaces, showMany, showResult } from './result.ts';
import type { Choice, DetectResponse, Fields, LiveResponse, ManyResponse, Received, Task } from './types.ts';
import { bytesText } from './words.ts';

/** Events and state of the page. The page stores nothing in the browser. */

const key = find(document, '#key', HTMLInputElement);
const keyFault = new Fault(byId('key-field'), key, byId('key-fault'));
const slots = [new PhotoSlot(1, forget), new PhotoSlot(2, forget)] as const;
const others = new Others(forget);
const faces = [
  new Faces(slots[0], (index) => choose([index, chosen[1]], 0)),
  new Faces(slots[1], (index) => choose([chosen[0], index], 1)),
] as const;

/** The faces that were selected by a click. */
let chosen: Choice = [-1, -1];
let task: Task = 'match';
/** Endpoints that this key may not use. */
const forbidden = new Set<string>();
let running: AbortController | undefined;

takeDroppedAndPasted(slots, (files, chosen) => {
  if (task !== 'match_many' || chosen !== undefined) return false;
  const [first, ...rest] = files;
  if (slots[0].file === undefined && first !== undefined) {
    void slots[0].show(first);
    others.list.add(rest);
  } else others.list.add(files);
  return true;
});
for (const radio of document.querySelectorAll<HTMLInputElement>('[name="task"]')) {
  const endpoint = radio.value as Task;
  if (settings.paths[endpoint] !== undefined) radio.closest('label')!.hidden = false;
  radio.addEventListener('change', () => selectTask(endpoint));
}
selectTask('match');
showForm(() => setText(byId('stale'), 'The options have changed: compare again.'));
makeCopyButtons();
for (const [id, title] of [['docs', 'Documentation'] as const, ['openapi', 'OpenAPI'] as const]) {
  const href = settings.paths[id];
  if (href !== undefined) byId('links').append(element('a', { href }, title));
}
key.addEventListener('input', () => forbidden.clear());
byId('show-key').addEventListener('click', () => {
  key.type = key.type === 'password' ? 'text' : 'password';
  byId('show-key').ariaPressed = String(key.type === 'text');
});
byId('samples').hidden = !settings.samples;
byId('try-samples').addEventListener('click', () => void compareSamples());
void offerSamples();
// On a phone these cards are folded, so that the result fits the screen.
const isWide = matchMedia('(width > 40rem)').matches;
for (const card of document.querySelectorAll<HTMLDetailsElement>('details.folds')) card.open = isWide;
void followFragment();
key.addEventListener('input', () => keyFault.clear());
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

/** Sends the form and shows the outcome; returns true for a result. Cancels a running request. */
async function compare(): Promise<boolean> {
  running?.abort();
  clearFaults();
  const plan = planOf(taskOf(), { ...chosenFields(), ...chosenFaces() }, forbidden);
  if (plan === undefined) return fail({ problem: allOff });
  await Promise.all(photoSlots().map(({ ready }) => ready));
  if (!isReady()) return false;
  if (task === 'match_live') return checkLive(plan.fields);
  const photos = photosOf();
  const mine = new AbortController();
  running = mine;
  showBusy(true);
  const outcome = await send(plan, key.value.trim(), photos, mine.signal);
  // A newer request has started.
  if (running !== mine) return false;
  running = undefined;
  showBusy(false);
  if (mine.signal.aborted) {
    say('Cancelled.');
    return false;
  }
  if ('problem' in outcome && outcome.problem.code === 'forbidden_scope' && !forbidden.has(plan.endpoint)) {
    // The key may have the scope of the other endpoint.
    forbidden.add(plan.endpoint);
    if (planOf(taskOf(), plan.fields, forbidden)?.endpoint !== plan.endpoint) return compare();
  }
  showPrograms(plan, photos);
  byId('json').textContent = JSON.stringify(
    'response' in outcome ? outcome.response : outcome.problem,
    null,
    2,
  );
  byId('exchange').hidden = false;
  return 'response' in outcome ? succeed(outcome) : fail(outcome);
}

/** Runs a liveness check that compares the person in front of the camera with photo 1. */
async function checkLive(fields: Fields): Promise<boolean> {
  hideResults();
  byId('exchange').hidden = true;
  const received = await runLive(key.value.trim(), slots[0].files, fields);
  if (received === undefined) {
    say('Cancelled.');
    return false;
  }
  if ('problem' in received) return fail(received);
  say(titleOf(received.response as LiveResponse));
  reveal(byId('live-result'));
  return true;
}

function succeed({ response, round_trip_ms }: Extract<Received, { response: unknown }>): true {
  // live.ts shows the response of a liveness check.
  if ('verified' in response) return true;
  if (!('match' in response)) return succeedWithList(response);
  showResult(response, round_trip_ms, [slots[0].image, slots[1].image]);
  setText(byId('stale'), undefined);
  const images = 'pairs' in response ? ([response.image1, response.image2] as const) : firstPhotos(response);
  for (const [at, image] of images.entries()) faces[at]!.show(image);
  if (!('pairs' in response)) {
    for (const [at, photos] of [response.image1, response.image2].entries())
      slots[at]!.showAgreements(photos.map(({ agreement_percent }) => agreement_percent));
  }
  setChosen(chosen);
  say(announcement(response));
  return true;
}

function succeedWithList(response: ManyResponse | DetectResponse): true {
  if ('results' in response) {
    faces[0].show(response.image1);
    say(showMany(response, others.list.rows));
  } else {
    faces[0].show({ ...response.image, face_index: -1 });
    say(showFaces(response, slots[0].image));
  }
  setChosen(chosen);
  return true;
}

/**
 * Checks that there are photos and a key, and that the photos are within the limits. Otherwise shows the errors,
 * focuses the first control with an error and returns false.
 */
function isReady(): boolean {
  const { max_body_bytes, max_image_bytes } = settings.limits;
  const allPhotos = photoSlots();
  for (const { files, fault } of allPhotos) {
    if (files.length === 0) fault.show('Choose a photo first.');
    else if (files.some(({ size }) => size > max_image_bytes)) {
      fault.show(`The maximum is ${bytesText(max_image_bytes)} for a photo. Choose a smaller photo.`);
    }
  }
  const sizes = allPhotos.flatMap(({ files }) => files.map(({ size }) => size));
  const tooLarge = sizes.reduce((sum, size) => sum + size, 0) > max_body_bytes;
  if (tooLarge && allPhotos.every(({ fault }) => !fault.shown)) {
    const limit = bytesText(max_body_bytes);
    allPhotos.at(-1)!.fault.show(`The maximum is ${limit} for all photos together. Choose smaller photos.`);
  }
  if (key.value.trim() === '') keyFault.show('Enter the API key first.');
  const faults = [...allPhotos.map(({ fault }) => fault), keyFault].filter(({ shown }) => shown);
  faults[0]?.focus();
  return faults.length === 0;
}

/** Returns the photo slots of the current tab. */
function photoSlots() {
  if (task === 'match') return slots;
  return task === 'match_many' ? [slots[0], others] : [slots[0]];
}

/** Puts the sample photos of the server into the form. */
async function showSamples(): Promise<void> {
  const files = await Promise.all([1, 2].map(sampleFile));
  void slots[0].show(files[0]!);
  if (task === 'match_many') others.list.add([files[1]!]);
  else void slots[1].show(files[1]!);
}

/** Shows the sample photos, and compares them if there is a key. */
async function compareSamples(): Promise<void> {
  await showSamples();
  if (key.value.trim() === '') key.focus();
  else if (await compare()) reveal(byId('result'));
}

/** Shows a sample photo in each empty slot, as a button that selects it. */
async function offerSamples(): Promise<void> {
  if (!settings.samples) return;
  for (const slot of slots) slot.offer(await sampleFile(slot.number));
}

/**
 * Reads the key from the fragment of the URL (`#key=…`), and removes the fragment from the history. `facematch demo
 * --open` uses a fragment, because browsers never send it. With `&samples`, compares the sample photos.
 */
async function followFragment(): Promise<void> {
  const given = new URLSearchParams(location.hash.slice(1));
  const found = given.get('key');
  if (found === null) return;
  history.replaceState(null, '', location.pathname + location.search);
  key.value = found;
  if (given.has('samples') && settings.samples) await compareSamples();
}

async function sampleFile(number: number): Promise<File> {
  const response = await fetch(`${settings.paths.demo}?sample=${number}`);
  return notOnDisk(new File([await response.blob()], `sample${number}.jpg`, { type: 'image/jpeg' }));
}

/** Returns the photos of the request with their form fields. */
function photosOf(): Photo[] {
  const [first, second] = slots;
  if (task === 'match') {
    return [first, second].flatMap(({ name, files }) => files.map((file) => ({ name, file })));
  }
  if (task === 'detect') return [{ name: 'image', file: first.file }];
  return [first, ...others.files.map((file) => ({ name: others.name, file }))];
}

/** Changes the tab: hides the controls of other tabs and clears the results. */
function selectTask(wanted: Task): void {
  task = wanted;
  slots[1].section.hidden = task !== 'match';
  for (const slot of slots) {
    slot.takeSeveral(task === 'match' && settings.paths.match_person !== undefined);
  }
  others.section.hidden = task !== 'match_many';
  byId('threshold-field').hidden = task === 'detect';
  byId('compare').textContent = verb();
  forget();
}

/** Returns the endpoint: `match_person` if a person has several photos, otherwise the tab's. */
function taskOf(): Task | 'match_person' {
  return task === 'match' && slots.some(({ files }) => files.length > 1) ? 'match_person' : task;
}

function verb(): string {
  if (task === 'match_live') return 'Check with the camera';
  return task === 'detect' ? 'Find faces' : 'Compare';
}

function fail({ problem, retry_after_s }: Extract<Received, { problem: unknown }>): false {
  hideResults();
  showProblem(problem, retry_after_s, () => void compare());
  // The field `image` of a detect request is the photo in the first slot.
  const names = fieldsOf(problem).map((name) => (name === 'image' ? slots[0].name : name));
  const faultsOf = (name: string) => (problem.errors ?? []).filter(({ field }) => field === name);
  for (const { name, fault } of photoSlots()) {
    // The slot is highlighted unless only additional photos of the person have errors.
    const first = faultsOf(name).some(({ index = 0 }) => index === 0) || faultsOf(name).length === 0;
    if (first && names.includes(name)) fault.show();
  }
  for (const slot of slots) slot.showFaults(faultsOf(slot.name));
  const controls = names.map((name) => form.querySelector<HTMLElement>(`[name="${CSS.escape(name)}"]`));
  for (const control of controls) {
    control?.setAttribute('aria-invalid', 'true');
    control?.setAttribute('aria-errormessage', 'problem-text');
  }
  controls[0]?.focus({ preventScroll: true });
  reveal(byId('problem'));
  return false;
}

const allOff = {
  code: 'endpoint_disabled',
  title: 'This endpoint is disabled',
  detail: 'The operator has disabled it on this server.',
};

/** Clears the results, because a photo or the tab has changed. */
function forget(): void {
  running?.abort();
  clearFaults();
  setChosen([-1, -1]);
  for (const overlay of faces) overlay.clear();
  for (const slot of slots) slot.showAgreements([]);
  hideResults();
  byId('exchange').hidden = true;
}

function hideResults(): void {
  byId('result').hidden = true;
  byId('list-result').hidden = true;
  hideLive();
}

function clearFaults(): void {
  clearProblem();
  for (const place of [...slots, others]) place.fault.clear();
  keyFault.clear();
  for (const control of form.querySelectorAll('[aria-invalid="true"]'))
    control.removeAttribute('aria-invalid');
}

/** Selects or deselects a clicked face of photo 0 or 1. If a face is selected in each photo, compares these two. */
function choose(wanted: Choice, photo: 0 | 1): void {
  if (settings.paths.match_advanced === undefined || taskOf() !== 'match') return;
  const again = wanted[photo] === chosen[photo];
  if (again) wanted[photo] = -1;
  setChosen(wanted);
  if (!again && !chosen.includes(-1)) void compare();
}

function setChosen(wanted: Choice): void {
  chosen = wanted;
  for (const [i, overlay] of faces.entries()) overlay.press(chosen[i]!);
  const words = chosen.flatMap((index, i) => (index === -1 ? [] : [`face ${index + 1} of photo ${i + 1}`]));
  byId('chosen').hidden = words.length === 0;
  const rest = words.length === 1 ? ` Select a face in photo ${chosen[0] === -1 ? 1 : 2} as well.` : '';
  byId('chosen-text').textContent = `Selected: ${words.join(' and ')}.${rest}`;
  if (rest !== '') say(byId('chosen-text').textContent);
}

function chosenFaces(): Fields {
  const [one, two] = chosen;
  return {
    ...(one === -1 ? {} : { image1_face_index: String(one) }),
    ...(two === -1 ? {} : { image2_face_index: String(two) }),
  };
}

function showBusy(now: boolean): void {
  // The button is not disabled, because that would lose the focus of keyboard users.
  byId('compare').ariaDisabled = String(now);
  byId('compare').textContent = now ? 'Working…' : verb();
  byId('cancel').hidden = !now;
  byId('outcome').ariaBusy = String(now);
  if (now) say('Working.');
}

/** Scrolls to the result, which on a phone is below the visible part of the page. */
function reveal(target: HTMLElement): void {
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  target.scrollIntoView({ block: 'nearest', behavior: calm ? 'auto' : 'smooth' });
}

/** Announces text to screen readers. */
function say(text: string | null): void {
  byId('status').textContent = text;
}
