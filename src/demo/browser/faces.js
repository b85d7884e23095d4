import { element, place } from './dom.js';
import { count } from './words.js';

/** @typedef {import('./types.ts').Picture} Picture */
/** @typedef {import('./types.ts').Face} Face */

/** The faces of one photo: buttons over its preview, largest first, as the answer lists them. */
export class Faces {
  #slot;
  #onChoose;
  /** @type {HTMLButtonElement[]} */
  #buttons = [];
  /** What stands below the photo unless a face is pointed at. */
  #caption = '';

  /**
   * @param {import('./photo-slot.js').PhotoSlot} slot
   * @param {(index: number) => void} onChoose a face was clicked
   */
  constructor(slot, onChoose) {
    this.#slot = slot;
    this.#onChoose = onChoose;
    for (const leave of ['pointerout', 'focusout']) {
      slot.faces.addEventListener(leave, () => this.#say(this.#caption));
    }
  }

  /** @param {Picture} picture */
  show(picture) {
    const { width, height, faces, face_index } = picture;
    // A click sends a new request, whose answer brings new buttons: who uses the keyboard stays where they are.
    const focused = this.#buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    this.#buttons = faces.map((face) => this.#button(face, picture));
    this.#slot.faces.replaceChildren(...this.#buttons);
    this.#buttons[focused]?.focus({ preventScroll: true });
    this.#buttons[face_index]?.classList.add('compared');
    this.#caption = `${this.#slot.label}, ${width} × ${height}, ${count(faces.length, 'face')}`;
    this.#say(this.#caption);
  }

  clear() {
    this.#buttons = [];
    this.#slot.faces.replaceChildren();
  }

  /** @param {number} index none when -1 */
  press(index) {
    for (const [i, button] of this.#buttons.entries()) button.ariaPressed = String(i === index);
  }

  /** The one that was compared. */
  get compared() {
    return this.#buttons.find((button) => button.classList.contains('compared'));
  }

  /**
   * @param {Face} face
   * @param {Picture} picture
   */
  #button(face, { width, height, faces, face_index }) {
    const { index, box, landmarks } = face;
    const which = faces.length === 1 ? 'the only face' : `face ${index + 1} of ${faces.length}`;
    const button = element('button', {
      type: 'button',
      className: 'face',
      ariaPressed: 'false',
      ariaLabel: `Photo ${this.#slot.number}, ${which}${index === face_index ? ', compared' : ''}`,
    });
    place(button, { x: box.x / width, y: box.y / height, w: box.width / width, h: box.height / height });
    button.append(
      element('span', { className: 'number', ariaHidden: 'true' }, String(index + 1)),
      ...Object.values(landmarks).map(([x, y]) => {
        const dot = element('i', { className: 'landmark' });
        place(dot, { x: (x - box.x) / box.width, y: (y - box.y) / box.height });
        return dot;
      }),
    );
    const details = detailsOf(face);
    button.ariaDescription = details;
    button.addEventListener('click', () => this.#onChoose(index));
    for (const come of ['pointerenter', 'focus']) {
      button.addEventListener(come, () => this.#say(`Face ${index + 1}: ${details}`));
    }
    return button;
  }

  /** @param {string} text */
  #say(text) {
    this.#slot.caption.textContent = text;
  }
}

/** @param {Face} face */
function detailsOf({ detection_score, found_by, pose, quality }) {
  const { yaw, pitch, roll } = pose;
  return [
    `score ${detection_score.toFixed(2)}`,
    found_by === 'primary' ? '' : `found by the fallback: ${found_by}`,
    `${quality.face_pixels} px`,
    `sharpness ${quality.sharpness.toFixed(2)}`,
    `brightness ${quality.brightness.toFixed(2)}`,
    `yaw ${degrees(yaw)}, pitch ${degrees(pitch)}, roll ${degrees(roll)}`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** With the true minus sign, which screen readers read. @param {number} angle */
const degrees = (angle) => `${Math.round(angle).toString().replace('-', '−')}°`;
