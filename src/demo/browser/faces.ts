import { count } from '../../words/score.ts';
import { element, find, place } from './dom.ts';
import type { PhotoSlot } from './photos.ts';
import type { Face, FoundImage } from './types.ts';

/** The faces of one photo, as buttons over its preview, in the order of the response. */
export class Faces {
  readonly #slot: PhotoSlot;
  readonly #onChoose: (index: number) => void;
  readonly #layer: HTMLElement;
  #buttons: HTMLButtonElement[] = [];

  /** @param onChoose called when a face is clicked */
  constructor(slot: PhotoSlot, onChoose: (index: number) => void) {
    this.#slot = slot;
    this.#onChoose = onChoose;
    this.#layer = find(slot.section, '.faces', HTMLElement);
  }

  /** @param found has a `face_index` of -1 if no face was compared */
  show(found: FoundImage): void {
    const { width, height, faces, face_index, min_detectable_face_px } = found;
    // The response to a click replaces the buttons, so the focus is moved to the new button of the same face.
    const focused = this.#buttons.indexOf(document.activeElement as HTMLButtonElement);
    const caption = `${this.#slot.label}, ${width} × ${height}, ${count(faces.length, 'face')} of at least ${min_detectable_face_px} px`;
    this.#buttons = faces.map((face) => this.#button(face, found, caption));
    this.#layer.replaceChildren(...this.#buttons);
    this.#buttons[focused]?.focus({ preventScroll: true });
    this.#buttons[face_index]?.classList.add('compared');
    this.#say(caption);
  }

  clear(): void {
    this.#buttons = [];
    this.#layer.replaceChildren();
  }

  /** @param index -1 for none */
  press(index: number): void {
    for (const [i, button] of this.#buttons.entries()) button.ariaPressed = String(i === index);
  }

  /** @param caption shown below the photo unless the pointer is over a face */
  #button(face: Face, { width, height, faces, face_index }: FoundImage, caption: string): HTMLButtonElement {
    const { index, box, landmarks } = face;
    const which = faces.length === 1 ? 'the only face' : `face ${index + 1} of ${faces.length}`;
    const details = detailsOf(face);
    const dots = Object.values(landmarks).map(([x, y]) => {
      const dot = element('i', { className: 'landmark' });
      place(dot, { x: (x - box.x) / box.width, y: (y - box.y) / box.height });
      return dot;
    });
    const button = element(
      'button',
      {
        type: 'button',
        className: 'face',
        ariaPressed: 'false',
        ariaLabel: `Photo ${this.#slot.number}, ${which}${index === face_index ? ', compared' : ''}`,
        ariaDescription: details,
      },
      element('span', { className: 'number', ariaHidden: 'true' }, String(index + 1)),
      ...dots,
    );
    place(button, { x: box.x / width, y: box.y / height, w: box.width / width, h: box.height / height });
    button.addEventListener('click', () => this.#onChoose(index));
    for (const enter of ['pointerenter', 'focus']) {
      button.addEventListener(enter, () => this.#say(`Face ${index + 1}: ${details}`));
    }
    for (const leave of ['pointerleave', 'blur']) button.addEventListener(leave, () => this.#say(caption));
    return button;
  }

  #say(text: string): void {
    this.#slot.caption.textContent = text;
  }
}

export function detailsOf({ detection_score, found_by, pose, quality }: Face): string {
  const { yaw, pitch, roll } = pose;
  return [
    `score ${detection_score.toFixed(2)}`,
    found_by === 'primary' ? '' : `found by the pass: ${found_by}`,
    `${quality.face_pixels} px`,
    `sharpness ${quality.sharpness.toFixed(2)}`,
    `brightness ${quality.brightness.toFixed(2)}`,
    quality.dot_pitch_px > 0 ? `dots every ${quality.dot_pitch_px.toFixed(1)} px` : '',
    `stretch ${quality.stretch_ratio.toFixed(2)}`,
    `yaw ${degrees(yaw)}, pitch ${degrees(pitch)}, roll ${degrees(roll)}`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** Formats an angle with U+2212 as minus sign, because screen readers read it aloud. */
const degrees = (angle: number) => `${Math.round(angle).toString().replace('-', '−')}°`;
