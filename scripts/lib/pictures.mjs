// Draws the pictures of docs/pictures as SVG. Faces are drawn from the numbers of a response, so that no photo of a
// person is needed. The colours follow the reader's light or dark mode.

const style = `<style>
  svg { --text: #1f2328; --muted: #59636e; --line: #818b98; --fill: #f6f8fa; --blue: #0969da; --green: #1a7f37; --red: #cf222e; --amber: #9a6700; --skin: #eaeef2; }
  @media (prefers-color-scheme: dark) {
    svg { --text: #f0f6fc; --muted: #9198a1; --line: #656c76; --fill: #151b23; --blue: #4493f8; --green: #3fb950; --red: #f85149; --amber: #d29922; --skin: #2a313c; }
  }
  text { font: 14px system-ui, sans-serif; fill: var(--text); }
  .small { font-size: 12px; fill: var(--muted); }
  .bold { font-weight: 600; }
  .middle { text-anchor: middle; }
  .end { text-anchor: end; }
  .line { stroke: var(--line); fill: none; }
  .panel { stroke: var(--line); fill: var(--fill); }
  .head { stroke: var(--line); fill: var(--skin); }
  .box { stroke: var(--blue); stroke-width: 2; fill: none; }
  .point { fill: var(--blue); }
  .axis { stroke: var(--amber); stroke-width: 2; fill: none; }
  .blue { fill: var(--blue); } .green { fill: var(--green); } .red { fill: var(--red); } .amber { fill: var(--amber); }
</style>
<defs>
  <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 z" fill="context-stroke"/></marker>
</defs>`;

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const round = (number) => Math.round(number * 10) / 10;

function svg({ width, height, title, description }, ...parts) {
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title description">`;
  const words = `<title id="title">${escaped(title)}</title>\n<desc id="description">${escaped(description)}</desc>`;
  return `${[head, words, style, ...parts.flat(9), '</svg>'].join('\n')}\n`;
}
const text = (x, y, words, classes = '') =>
  `<text x="${round(x)}" y="${round(y)}"${classes && ` class="${classes}"`}>${escaped(words)}</text>`;
const rect = (x, y, width, height, classes, more = '') =>
  `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" class="${classes}" ${more}/>`;
const line = (x1, y1, x2, y2, classes = 'line', more = '') =>
  `<path d="M${round(x1)} ${round(y1)} L${round(x2)} ${round(y2)}" class="${classes}" ${more}/>`;
const arrow = (x1, y1, x2, y2, classes = 'line') =>
  line(x1, y1, x2, y2, classes, 'stroke-width="1.5" marker-end="url(#arrow)"');
const circle = (x, y, radius, classes) =>
  `<circle cx="${round(x)}" cy="${round(y)}" r="${radius}" class="${classes}"/>`;

/** Draws the sequence of steps of one request, from top to bottom. */
function requestPath() {
  const lanes = [
    ['client', 90],
    ['main thread (HTTP)', 270],
    ['queue', 460],
    ['workers (C++)', 630],
  ];
  const at = Object.fromEntries(lanes.map(([name, x]) => [name.split(' ')[0], x]));
  const steps = [
    ['client', 'main', 'headers: path, x-api-key'],
    ['main', 'main', 'route, key, scope, rate limit, length'],
    ['client', 'main', 'body: form or JSON'],
    ['main', 'main', 'parse, check sizes'],
    ['main', 'queue', 'one job per image'],
    ['queue', 'worker', 'image, when a worker is free'],
    ['worker', 'worker', 'decode, detect, align, embed'],
    ['worker', 'main', 'faces and embeddings'],
    ['main', 'main', 'compare, convert to percent; wipe the body'],
    ['main', 'client', 'response'],
  ];
  const top = 76;
  const step = 42;
  const height = top + steps.length * step + 16;
  return svg(
    {
      width: 724,
      height,
      title: 'The path of a request',
      description: steps.map(([from, to, what]) => `${from} to ${to}: ${what}`).join('. '),
    },
    lanes.map(([name, x]) => [
      rect(x - 82, 12, 164, 32, 'panel', 'rx="6"'),
      text(x, 33, name, 'middle bold'),
      line(x, 44, x, height - 10, 'line', 'stroke-dasharray="3 4"'),
    ]),
    steps.map(([from, to, what], index) => {
      const y = top + index * step;
      if (from === to) {
        const left = from === 'worker';
        const words = text(at[from] + (left ? -12 : 12), y + 5, what, left ? 'small end' : 'small');
        return [rect(at[from] - 5, y - 14, 10, 28, 'panel'), words];
      }
      const [x1, x2] = [at[from], at[to]];
      const side = Math.sign(x2 - x1);
      return [arrow(x1 + 5 * side, y, x2 - 6 * side, y), text((x1 + x2) / 2, y - 7, what, 'small middle')];
    }),
  );
}

const rates = [
  [50, '1 in 100'],
  [60, '1 in 1,000'],
  [70, '1 in 10,000'],
  [80, '1 in 100,000'],
  [90, '1 in 1,000,000'],
];

/** Draws the axis of confidence_percent from 0 to 100, with the rates below it. */
function scale(x, y, width, labels = rates) {
  const place = (percent) => x + (width * percent) / 100;
  return {
    place,
    parts: [
      rect(x, y - 4, width * 0.4, 8, 'panel'),
      rect(place(40), y - 4, width * 0.6, 8, 'blue', 'opacity="0.35"'),
      [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100].map((percent) => [
        line(place(percent), y - 4, place(percent), y + 8),
        text(place(percent), y + 23, String(percent), 'small middle'),
      ]),
      // Labels alternate between two rows, because neighbours would overlap.
      labels.map(([percent, rate], index) =>
        text(place(percent), y + 41 + 15 * (index % 2), rate, 'small middle'),
      ),
    ],
  };
}

function scoreScale() {
  const { parts, place } = scale(30, 80, 680);
  return svg(
    {
      width: 740,
      height: 166,
      title: 'The scale of confidence_percent',
      description: `Below 40 the scale only means not similar. ${rates.map(([percent, rate]) => `${percent} percent: ${rate} non-mated pairs score at least this high`).join('. ')}. The default threshold is 70.`,
    },
    text(30, 22, 'confidence_percent', 'bold'),
    text(place(20), 60, 'not similar', 'small middle'),
    text(place(55), 60, 'ten points more: ten times rarer', 'small middle'),
    parts,
    line(place(70), 34, place(70), 92, 'axis'),
    text(place(70) + 6, 44, 'match, at the default threshold', 'green small'),
    text(30, 158, 'share of non-mated pairs (different people) that score at least this high', 'small'),
  );
}

function twoThresholds() {
  const { parts, place } = scale(30, 96, 680, [
    [60, '1 in 1,000'],
    [80, '1 in 100,000'],
  ]);
  const zones = [
    [0, 60, 'red', 'reject', 'ask for a new photo'],
    [60, 80, 'amber', 'review', 'a person decides'],
    [80, 100, 'green', 'accept', ''],
  ];
  return svg(
    {
      width: 740,
      height: 166,
      title: 'A decision with two thresholds',
      description:
        'Reject below the lower threshold, here 60 percent. Accept at or above the upper threshold, here 80 percent. Between them, a person decides.',
    },
    zones.map(([from, to, colour, word, note]) => [
      rect(place(from), 34, place(to) - place(from), 44, colour, 'opacity="0.18"'),
      text((place(from) + place(to)) / 2, note ? 53 : 61, word, `middle bold ${colour}`),
      note && text((place(from) + place(to)) / 2, 71, note, 'small middle'),
    ]),
    [60, 80].map((percent) => line(place(percent), 24, place(percent), 100, 'axis')),
    text(place(60), 18, 'lower threshold', 'small middle'),
    text(place(80), 18, 'upper threshold', 'small middle'),
    parts,
  );
}

/** Draws a head with five landmarks. `yaw` and `pitch` are shifts relative to its size; `roll` is in degrees. */
function head(x, y, size, { yaw = 0, pitch = 0, roll = 0 } = {}) {
  const [dx, dy] = [yaw * size, pitch * size];
  return `<g transform="translate(${round(x)} ${round(y)}) rotate(${round(roll)})">
<ellipse rx="${round(size * 0.38)}" ry="${round(size * 0.5)}" class="head"/>
${circle(-size * 0.15 + dx, -size * 0.08 + dy, round(size * 0.035), 'point')}
${circle(size * 0.15 + dx, -size * 0.08 + dy, round(size * 0.035), 'point')}
${circle(dx * 1.4, size * 0.08 + dy * 1.2, round(size * 0.035), 'point')}
${circle(-size * 0.12 + dx, size * 0.24 + dy, round(size * 0.035), 'point')}
${circle(size * 0.12 + dx, size * 0.24 + dy, round(size * 0.035), 'point')}
<path d="M${round(-size * 0.12 + dx)} ${round(size * 0.24 + dy)} Q${round(dx)} ${round(size * 0.31 + dy)} ${round(size * 0.12 + dx)} ${round(size * 0.24 + dy)}" class="line"/>
</g>`;
}

function faceGeometry() {
  const size = 200;
  const [x, y] = [200, 160];
  const points = [
    ['right_eye', -0.15, -0.08],
    ['left_eye', 0.15, -0.08],
    ['nose', 0, 0.08],
    ['mouth_right', -0.12, 0.24],
    ['mouth_left', 0.12, 0.24],
  ];
  const label = (name, dx, dy) => {
    const [px, py] = [x + dx * size, y + dy * size];
    const side = dx < 0 ? -1 : 1;
    const tx = x + side * size * 0.58;
    return [
      line(px + side * 8, py, tx - side * 4, py, 'line', 'stroke-dasharray="2 3"'),
      text(tx, py + 4, name, side < 0 ? 'small end' : 'small'),
    ];
  };
  const turns = [
    ['yaw', { yaw: 0.1 }, 'positive: looks', 'to their own left', 'M-30 62 Q0 76 30 62'],
    ['pitch', { pitch: -0.1 }, 'positive: looks up', '', 'M52 24 Q64 0 52 -24'],
    ['roll', { roll: 20 }, 'positive: the head leans', 'to their own left', 'M-18 -64 Q12 -74 40 -54'],
  ];
  return svg(
    {
      width: 840,
      height: 304,
      title: 'Box, landmarks and pose of a face',
      description:
        'A face with its box and five landmarks: right_eye, left_eye, nose, mouth_right, mouth_left. Left and right are the person’s own. Yaw is positive when the person looks to their own left, pitch when they look up, roll when the head leans towards their own left shoulder.',
    },
    head(x, y, size),
    rect(x - size * 0.4, y - size * 0.42, size * 0.8, size * 0.86, 'box'),
    line(x - size * 0.4, y - size * 0.42, x - size * 0.52, y - size * 0.54),
    text(x - size * 0.5, y - size * 0.57, 'box: (x, y) is this corner', 'small middle'),
    points.map(([name, dx, dy]) => label(name, dx, dy)),
    text(x, 292, 'landmarks; left and right are the person’s own', 'small middle'),
    turns.map(([name, turn, first, second, path], index) => {
      const cx = 450 + index * 145;
      return [
        text(cx, 40, name, 'middle bold'),
        head(cx, 140, 100, turn),
        `<path d="${path}" class="axis" transform="translate(${cx} 140)" marker-end="url(#arrow)"/>`,
        text(cx, 240, first, 'small middle'),
        text(cx, 256, second, 'small middle'),
      ];
    }),
  );
}

/** Draws a head with the box and the landmarks of the compared face, like the demo page. */
function photo(x, y, side, image, name) {
  const { width, height, faces, face_index } = image;
  const share = side / Math.max(width, height);
  const { box, landmarks, pose } = faces[face_index];
  const [cx, cy] = [x + (box.x + box.width / 2) * share, y + (box.y + box.height / 2) * share];
  const tall = Math.max(box.width, box.height) * share;
  const at = ([px, py]) => `${round(x + px * share)} ${round(y + py * share)}`;
  return [
    rect(x, y, width * share, height * share, 'panel', 'rx="6"'),
    `<ellipse cx="${round(cx)}" cy="${round(cy)}" rx="${round(tall * 0.44)}" ry="${round(tall * 0.58)}" class="head" transform="rotate(${round(pose.roll)} ${round(cx)} ${round(cy)})"/>`,
    `<path d="M${at(landmarks.mouth_right)} L${at(landmarks.mouth_left)}" class="line"/>`,
    rect(x + box.x * share, y + box.y * share, box.width * share, box.height * share, 'box'),
    Object.values(landmarks).map(([px, py]) => circle(x + px * share, y + py * share, 3.5, 'point')),
    text(x, y + height * share + 20, name, 'small'),
  ];
}

/** Draws the result of the demo page for two photos, with the numbers of a real response. */
function result({ match, confidence_percent, threshold_percent, extrapolated, image1, image2 }) {
  const { parts, place } = scale(40, 330, 640);
  const sign = match ? '≥' : '<';
  const verdict = `${match ? 'Match' : 'No match'} (${confidence_percent} % ${sign} ${threshold_percent} %)`;
  return svg(
    {
      width: 720,
      height: 400,
      title: 'Two photos compared by facematch',
      description: `Two images, each with a box around the face and five landmarks. Result: ${verdict}${extrapolated ? ', beyond the measured range' : ''}.`,
    },
    photo(40, 20, 210, image1, 'image1'),
    photo(290, 20, 210, image2, 'image2'),
    text(530, 100, verdict, `bold ${match ? 'green' : 'red'}`),
    text(530, 124, 'match: '.concat(match), 'small'),
    text(530, 142, `confidence_percent: ${confidence_percent}`, 'small'),
    text(530, 160, `threshold_percent: ${threshold_percent}`, 'small'),
    extrapolated ? text(530, 178, 'beyond the measured range', 'small amber') : [],
    text(40, 290, 'confidence_percent, and the share of non-mated pairs that score as high', 'small'),
    parts,
    line(place(threshold_percent), 308, place(threshold_percent), 340, 'axis'),
    text(place(threshold_percent), 304, 'threshold', 'small middle'),
    circle(place(confidence_percent), 330, 7, match ? 'green' : 'red'),
  );
}

/** Returns the pictures: SVG text by path. */
export function pictures(examples) {
  return {
    'docs/pictures/request-path.svg': requestPath(),
    'docs/pictures/score-scale.svg': scoreScale(),
    'docs/pictures/two-thresholds.svg': twoThresholds(),
    'docs/pictures/face-geometry.svg': faceGeometry(),
    'docs/pictures/result.svg': result(examples.Match),
  };
}
