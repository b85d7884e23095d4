// Draws a mask over nose, mouth and chin of a face. There are no pictures of people with real masks that may be used.

const colours = [
  '#dfe9f2',
  '#9cc3e0',
  '#6aa8c9',
  '#24262b',
  '#f7f7f4',
  '#7a8f9a',
  '#b9c7a6',
  '#d8b9c4',
  '#8c3b3b',
  '#34465f',
];

/** The outline in lengths from eyes to mouth: x to the side, y from the eyes down. Mirrored for the other side. */
const outline = ({ top, side, chin }) => [
  [0, top],
  [0.16, top + 0.02],
  [0.5, top + 0.2],
  [side, top + 0.26],
  [side * 0.97, top + 0.65],
  [0.62, chin - 0.22],
  [0.26, chin],
];

/**
 * An SVG picture of the mask alone, of the size of the face's picture. Colour, size, folds and light are chosen with `random`,
 * a Random of test/support/random.mjs.
 */
export function maskOver({ landmarks, width, height }, random) {
  const { right_eye, left_eye, mouth_right, mouth_left } = landmarks;
  const middle = ([x1, y1], [x2, y2]) => ({ x: (x1 + x2) / 2, y: (y1 + y2) / 2 });
  const eyes = middle(right_eye, left_eye);
  const mouth = middle(mouth_right, mouth_left);
  const down = { x: mouth.x - eyes.x, y: mouth.y - eyes.y };
  const at = (x, y) =>
    [eyes.x + down.x * y + down.y * x, eyes.y + down.y * y - down.x * x].map((v) => v.toFixed(1)).join(' ');
  const shape = outline({
    top: 0.28 + 0.2 * random.next(),
    side: 0.74 + 0.2 * random.next(),
    chin: 1.6 + 0.3 * random.next(),
  });
  const around = [
    ...shape,
    ...shape
      .slice(1)
      .toReversed()
      .map(([x, y]) => [-x, y]),
  ];
  const colour = random.pick(colours);
  const [light, dark] = [0.25 * random.next(), 0.1 + 0.35 * random.next()];
  const side = random.chance(0.5) ? ['0', '1'] : ['1', '0'];
  const fold = (y) => `<path d="M${at(-0.6, y)}Q${at(0, y + 0.07)} ${at(0.6, y)}"/>`;
  const folds = random.chance(0.6) ? [0.75, 0.97, 1.19, 1.4].map(fold).join('') : '';
  const loops = [-1, 1].map((sign) => {
    const [, , , top, bottom] = shape.map(([x, y]) => at(sign * x, y));
    return `<path d="M${top}L${at(sign * 1.25, 0.35)}M${bottom}L${at(sign * 1.25, 0.75)}"/>`;
  });
  return Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <defs><linearGradient id="light" x1="${side[0]}" x2="${side[1]}">
      <stop offset="0" stop-color="#fff" stop-opacity="${light}"/><stop offset="1" stop-color="#000" stop-opacity="${dark}"/>
    </linearGradient></defs>
    <g fill="none" stroke="${colour}" stroke-width="${0.03 * Math.hypot(down.x, down.y)}">${loops.join('')}</g>
    ${[colour, 'url(#light)'].map((fill) => `<path d="M${around.map(([x, y]) => at(x, y)).join('L')}Z" fill="${fill}"/>`).join('')}
    <g fill="none" stroke="#000" stroke-opacity="0.25" stroke-width="${0.02 * Math.hypot(down.x, down.y)}">${folds}</g>
  </svg>`);
}
