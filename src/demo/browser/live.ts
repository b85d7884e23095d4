import { byId, element, settings } from './dom.ts';
import { capture, type Phase, phasesOf, type Step, select, sleep } from './live-capture.ts';
import { send } from './request.ts';
import type { Fields, LiveResponse, ProblemResponse, Received } from './types.ts';

/** The liveness check: its dialog and its result. */

const prompts: Readonly<Record<Phase['step'], { arrow: string; words: string }>> = {
  straight: { arrow: '•', words: 'Look straight into the camera' },
  left: { arrow: '←', words: 'Turn your head slowly to your left' },
  right: { arrow: '→', words: 'Turn your head slowly to your right' },
  up: { arrow: '↑', words: 'Lift your chin slowly' },
  down: { arrow: '↓', words: 'Lower your chin slowly' },
  middle: { arrow: '•', words: 'Back to the middle' },
};

const stepTexts: Readonly<Record<Step, string>> = {
  left: 'Turn to your left',
  right: 'Turn to your right',
  up: 'Lift your chin',
  down: 'Lower your chin',
};

const advice: Readonly<Record<LiveResponse['live_reasons'][number], string>> = {
  no_neutral_frame: 'Look straight into the camera before you begin.',
  step_missing: 'Move your head further, and back again.',
  wrong_direction: 'Follow the arrows only.',
  out_of_order: 'Make each movement once, in the order of the arrows.',
  identity_changed: 'Only one person may be in front of the camera. Use even light.',
  motion_jump: 'Move more slowly, and keep your face in the picture.',
  several_faces: 'Only one person may be in front of the camera.',
  repeated_frame: 'The camera sent the same frame again. Close other programs that use the camera.',
};

const limits =
  'This check makes it harder to pass with a photo or a still image on a screen. It does not detect masks, injected video or deepfakes.';

/** Messages for the errors of getUserMedia (Media Capture and Streams section 10.2). */
const faults: Readonly<Record<string, string>> = {
  NotAllowedError: 'The browser does not let this page use the camera. Allow it in the address bar.',
  NotFoundError: 'No camera was found.',
  NotReadableError: 'Another program uses the camera. Close it there.',
};

const video = element('video', { className: 'mirrored', playsInline: true, muted: true });
const arrow = element('div', { className: 'live-arrow', ariaHidden: 'true' });
const words = element('p', { className: 'live-words', role: 'status' });
const progress = element('progress', { max: 1, value: 0, ariaLabel: 'Progress of the check' });
const start = element('button', { type: 'button', className: 'primary' }, 'Start');
const cancel = element('button', { type: 'button', className: 'plain' }, 'Cancel');
const dialog = element(
  'dialog',
  { id: 'live', ariaLabel: 'Live check' },
  element(
    'div',
    { className: 'live-view' },
    video,
    element('div', { className: 'live-oval', ariaHidden: 'true' }),
    arrow,
  ),
  words,
  progress,
  element('div', { className: 'row' }, start, cancel),
);
const heading = element('h2', { id: 'live-title' });
const reasons = element('ul', { className: 'warnings' });
const table = element('div');
const result = element(
  'section',
  { className: 'card', id: 'live-result', hidden: true },
  heading,
  reasons,
  table,
);
result.setAttribute('aria-labelledby', heading.id);
result.append(element('p', { className: 'hint' }, limits));
document.body.append(dialog);
byId('outcome').append(result);

let check = new AbortController();
cancel.addEventListener('click', () => dialog.close());
// Listens for `close`, because Escape closes the dialog without a click on the button.
dialog.addEventListener('close', () => check.abort());

export function hideLive(): void {
  result.hidden = true;
}

/** Runs a check in the dialog. Returns undefined if it was cancelled. */
export async function runLive(
  key: string,
  references: readonly File[],
  fields: Fields,
): Promise<Received | undefined> {
  check.abort();
  const mine = new AbortController();
  check = mine;
  dialog.showModal();
  try {
    return await withCamera(mine.signal, () => runIn(mine.signal, key, references, fields));
  } catch (error) {
    if (mine.signal.aborted) return undefined;
    const { name, message } = error as Error;
    return {
      problem: { code: 'camera', title: 'The camera cannot be used', detail: faults[name] ?? message },
    };
  } finally {
    if (check === mine) dialog.close();
  }
}

/**
 * Opens the camera for `run`, and stops it afterwards. Does not call `run` if the check was cancelled while the
 * browser asked for permission.
 */
async function withCamera<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T | undefined> {
  prompt('straight', 'Put your face into the oval. You will be asked to move your head.');
  progress.value = 0;
  start.hidden = true;
  const stream = await openCamera();
  try {
    if (signal.aborted) return undefined;
    video.srcObject = stream;
    await video.play();
    return await run();
  } finally {
    for (const track of stream.getTracks()) track.stop();
    // After a cancelled check, the element may already show the camera of the next one.
    if (video.srcObject === stream) video.srcObject = null;
  }
}

async function runIn(
  signal: AbortSignal,
  key: string,
  references: readonly File[],
  fields: Fields,
): Promise<Received | undefined> {
  start.hidden = false;
  start.focus();
  await new Promise<void>((resolve) => {
    start.addEventListener('click', () => resolve(), { once: true, signal });
    signal.addEventListener('abort', () => resolve());
  });
  if (signal.aborted) return undefined;
  start.hidden = true;
  cancel.focus();
  const challenge = await getChallenge(key, signal);
  if ('problem' in challenge) return challenge;
  const phases = phasesOf(challenge.steps);
  const captured = capture(
    video,
    phases.reduce((sum, { ms }) => sum + ms, 0),
    signal,
  );
  for (const [i, { step, ms }] of phases.entries()) {
    if (signal.aborted) return undefined;
    prompt(step, prompts[step].words);
    progress.value = i / phases.length;
    await sleep(ms, signal);
  }
  const frames = select(await captured, challenge.frames.max);
  if (signal.aborted) return undefined;
  progress.value = 1;
  prompt('straight', 'Checking…');
  const photos = [
    ...frames.map((frame, i) => ({
      name: 'frame',
      file: new File([frame], `frame${i}.jpg`, { type: frame.type }),
    })),
    ...references.map((file) => ({ name: 'image2', file })),
  ];
  const live = { ...fields, challenge: challenge.challenge };
  const received = await send(
    { endpoint: 'match_live', path: settings.paths.match_live!, fields: live },
    key,
    photos,
    signal,
  );
  if (signal.aborted) return undefined;
  if ('response' in received) showLive(received.response as LiveResponse, frames);
  return received;
}

function prompt(step: Phase['step'], text: string): void {
  arrow.textContent = prompts[step].arrow;
  arrow.dataset.step = step;
  words.textContent = text;
}

async function openCamera(): Promise<MediaStream> {
  if (navigator.mediaDevices === undefined)
    throw new Error('Browsers allow cameras on HTTPS and localhost only.');
  return await navigator.mediaDevices.getUserMedia({
    video: { facingMode: 'user', width: { ideal: 640 }, height: { ideal: 480 } },
  });
}

interface Challenge {
  challenge: string;
  steps: Step[];
  frames: { max: number };
}

async function getChallenge(
  key: string,
  signal: AbortSignal,
): Promise<Challenge | { problem: ProblemResponse }> {
  const plan = { endpoint: 'match_live', path: settings.paths.challenge!, fields: {} } as const;
  const received = await send(plan, key, [], signal);
  return 'response' in received ? (received.response as unknown as Challenge) : received;
}

/** Shows the steps with their frames, and advice for the next attempt. */
function showLive(response: LiveResponse, frames: readonly Blob[]): void {
  heading.textContent = titleOf(response);
  reasons.replaceChildren(...response.live_reasons.map((reason) => element('li', {}, advice[reason])));
  const rows = response.steps.map(({ step, passed, frame, yaw_change, pitch_change }) => {
    const image = frame === null ? undefined : frames[frame];
    const frameCell = element('td', {}, ...(image ? [thumbnail(image, `Frame ${frame! + 1}`)] : []));
    const change = step === 'left' || step === 'right' ? yaw_change : pitch_change;
    return element(
      'tr',
      {},
      frameCell,
      element('th', { scope: 'row' }, stepTexts[step]),
      element('td', {}, passed ? '✓ shown' : '✗ not shown'),
      element('td', { className: 'digits' }, `${Math.abs(change).toFixed(0)}°`),
    );
  });
  const titles = ['Frame', 'Step', 'Result', 'Turned by'].map((title) =>
    element('th', { scope: 'col' }, title),
  );
  const head = element('thead', {}, element('tr', {}, ...titles));
  table.replaceChildren(element('table', {}, head, element('tbody', {}, ...rows)));
  result.hidden = false;
}

/** Returns the heading of the result, which is also announced to screen readers. */
export function titleOf({ verified, live, match, confidence_percent }: LiveResponse): string {
  if (verified) return `Verified: live, and a match (${confidence_percent} %)`;
  if (live) return `Not verified: live, but no match (${confidence_percent} %)`;
  return match
    ? `Not verified: a match (${confidence_percent} %), but not live`
    : 'Not verified: neither live nor a match';
}

function thumbnail(image: Blob, alt: string): HTMLImageElement {
  const src = URL.createObjectURL(image);
  const view = element('img', { src, alt, className: 'live-frame' });
  view.addEventListener('load', () => URL.revokeObjectURL(src), { once: true });
  return view;
}
