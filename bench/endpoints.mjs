// CPU time of the server for the other endpoints (one against sixteen, the faces of one picture, a thousand embeddings),
// compared with a pair of the same pictures in the same mode; and for a pair as JSON beside a form, small and as a photo of
// 4,000 × 3,000. They alternate on one server. "again" is the form once more: its ratio is the noise.
//   node bench/endpoints.mjs [--turns 5] [--seconds 2] [--json]

import { scopes } from '../dist/src/auth/keys.js';
import { endpointIds } from '../dist/src/config/config.js';
import { content_type, form, Load, lasting } from '../test/support/load.mjs';
import { portraits } from '../test/support/portraits.mjs';
import { cpuMsOf, endOnSignals, mainThreadCpuMsOf, startServer } from '../test/support/programs.mjs';
import { flags, progress, report } from '../test/support/report.mjs';
import { median } from './compare/results.mjs';

const options = flags({ turns: 5, seconds: 2, json: false });
const clients = 2;

endOnSignals();
const server = await startServer({
  env: { FACEMATCH_ENDPOINTS: endpointIds.join(',') },
  limits: { scopes: scopes.join(',') },
});
const face = '/API/v1.0/face';
const jpegs = async (width, height) =>
  (await portraits([{ width, height, format: 'jpeg' }])).map(({ bytes }) => bytes);
const files = await jpegs(250, 250);
const at = (index) => files[index % files.length];
const each = (make) => files.map((_, index) => form({ accuracy_mode: 'fast', ...make(index) }));

/** Pairs of `pictures` as a form, as a form again, and as JSON. */
function pairs(pictures) {
  const fields = pictures.map((image1, index) => ({
    accuracy_mode: 'fast',
    image1,
    image2: pictures[(index + 1) % pictures.length],
  }));
  const text = (value) => value.toString('base64');
  const kind = { path: 'match/upload/advanced', compared: 1 };
  const forms = { ...kind, bodies: fields.map(form) };
  const bodies = fields.map((one) =>
    Buffer.from(JSON.stringify({ ...one, image1: text(one.image1), image2: text(one.image2) })),
  );
  return { form: forms, again: forms, json: { ...kind, type: 'application/json', bodies } };
}
const [small, photo] = [pairs(files), pairs(await jpegs(4000, 3000))];

/** A thousand copies of one embedding, which cost as much as different ones. */
async function embeddings() {
  const body = form({ image: files[0], accuracy_mode: 'fast' });
  const headers = { 'x-api-key': server.key, 'content-type': content_type };
  const answer = await fetch(`${server.address}${face}/embed/upload`, { method: 'POST', headers, body });
  const { image, embedding } = await answer.json();
  const { pack, version, accuracy_mode } = embedding;
  const candidates = Array.from({ length: 1000 }, (_, id) => ({
    id: String(id),
    embedding: image.faces[0].embedding,
  }));
  return Buffer.from(
    JSON.stringify({
      embedding: image.faces[0].embedding,
      candidates,
      pack,
      version,
      accuracy_mode,
      limit: 1000,
    }),
  );
}

const kinds = {
  pair: small.form,
  'pair again': small.again,
  'pair as JSON': small.json,
  photo: photo.form,
  'photo again': photo.again,
  'photo as JSON': photo.json,
  many: {
    path: 'match/upload/many',
    bodies: each((i) => ({ image1: at(i), image2: Array.from({ length: 16 }, (_, k) => at(i + 1 + k)) })),
    compared: 16,
  },
  detect: { path: 'detect/upload', bodies: each((i) => ({ image: at(i) })), compared: 1 },
  embeddings: {
    path: 'match/embeddings',
    type: 'application/json',
    bodies: [await embeddings()],
    compared: 1,
  },
};

async function turn({ path, bodies, compared, type }, seconds) {
  const load = new Load({ ...server, path: `${face}/${path}`, ...(type && { content_type: type }) }, bodies);
  const [cpu, main] = [cpuMsOf(server.pid), mainThreadCpuMsOf(server.pid)];
  await load.closedLoop(clients, lasting(seconds));
  const spent = [cpuMsOf(server.pid) - cpu, mainThreadCpuMsOf(server.pid) - main];
  load.close();
  const good = load.answers.filter(({ status }) => status === 200);
  if (good.length < load.answers.length || load.lost > 0)
    throw new Error(`${path}: not all were answered 200`);
  const [cpu_ms, main_ms] = spent.map((ms) => ms / (good.length * compared));
  return { cpu_ms, main_ms, ms: median(good.map(({ ms }) => ms)) };
}

for (const kind of Object.values(kinds)) await turn(kind, 1);
const turns = Object.fromEntries(Object.keys(kinds).map((name) => [name, []]));
for (let number = 1; number <= options.turns; number++) {
  progress(`turn ${number} of ${options.turns}`);
  for (const [name, kind] of Object.entries(kinds)) turns[name].push(await turn(kind, options.seconds));
}
progress('');
await server.stop();

const of = (name, figure) => median(turns[name].map((one) => one[figure]));
const round = (value) => Math.round(value * 1000) / 1000;
/** The median of the turns' ratios. */
const over = (name, other, figure) =>
  round(median(turns[name].map((one, turn) => one[figure] / turns[other][turn][figure])));
const share = (name) => round(of(name, 'cpu_ms') / of('pair', 'cpu_ms'));
const claim = (what, found, most) => ({ what, found, limit: `at most ${most}`, ok: found <= most });
report({
  title: `Endpoints: medians of ${options.turns} turns, 250 × 250 JPEG (photo: 4,000 × 3,000), mode fast, ${clients} clients`,
  json: options.json,
  facts: {
    ...Object.fromEntries(
      Object.keys(kinds).map((name) => [
        name,
        {
          cpu_ms: round(of(name, 'cpu_ms')),
          main_ms: round(of(name, 'main_ms')),
          answered_ms: round(of(name, 'ms')),
        },
      ]),
    ),
    ...Object.fromEntries(
      ['pair', 'photo'].map((name) => [
        `main thread, ${name}`,
        {
          'JSON ÷ form': over(`${name} as JSON`, name, 'main_ms'),
          'form ÷ form': over(`${name} again`, name, 'main_ms'),
        },
      ]),
    ),
  },
  claims: [
    claim('CPU of a comparison, one against 16 over a pair', share('many'), 0.56),
    claim('CPU of detect over a pair', share('detect'), 0.55),
    claim('main thread for 1,000 embeddings, ms', round(of('embeddings', 'main_ms')), 20),
  ],
});
