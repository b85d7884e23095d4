import { find } from './dom.js';

/** The line between the two faces that were compared, drawn over both photos. */
export class Join {
  #canvas = find(document, '#join', SVGSVGElement);
  /** @type {() => (HTMLElement | undefined)[]} */
  #ends;

  /** @param {() => (HTMLElement | undefined)[]} ends */
  constructor(ends) {
    this.#ends = ends;
    // Photos come, go and wrap with the page's width.
    const observer = new ResizeObserver(() => this.draw());
    for (const watched of [this.#canvas, ...document.querySelectorAll('.stage')]) observer.observe(watched);
  }

  draw() {
    const [one, two] = this.#ends();
    this.#canvas.replaceChildren();
    if (one === undefined || two === undefined) return;
    const origin = this.#canvas.getBoundingClientRect();
    const [a, b] = [one.getBoundingClientRect(), two.getBoundingClientRect()];
    const [from, to] = [edge(a, middle(b)), edge(b, middle(a))];
    for (const className of ['halo', 'line']) {
      const line = document.createElementNS('http://www.w3.org/2000/svg', 'line');
      line.setAttribute('class', className);
      line.setAttribute('x1', String(from.x - origin.x));
      line.setAttribute('y1', String(from.y - origin.y));
      line.setAttribute('x2', String(to.x - origin.x));
      line.setAttribute('y2', String(to.y - origin.y));
      this.#canvas.append(line);
    }
  }
}

/** @typedef {{ x: number, y: number }} Point */

/**
 * @param {DOMRect} box
 * @returns {Point}
 */
const middle = ({ x, y, width, height }) => ({ x: x + width / 2, y: y + height / 2 });

/**
 * Where the line from a box's middle leaves the box, so that it covers no face.
 * @param {DOMRect} box
 * @param {Point} to
 * @returns {Point}
 */
function edge(box, to) {
  const from = middle(box);
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const share = Math.min(1, box.width / 2 / Math.abs(dx), box.height / 2 / Math.abs(dy));
  return { x: from.x + share * dx, y: from.y + share * dy };
}
