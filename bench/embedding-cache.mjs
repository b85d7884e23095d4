// What the embedding cache spares a caller who compares one reference with many:
//   node bench/embedding-cache.mjs [--rounds N] [--requests N] [--json]
// Two servers, one worker each, one with FACEMATCH_EMBEDDING_CACHE; the same requests to each in turns, the order another
// in each round. The reference is in every request; the others take turns and are more than the cache holds, so of each
// request one picture is known and one is new. "A/A" is the server without a cache against itself. CPU is that of the
// server's processes, which a busy machine stretches less than the time on the wall. Needs npm run setup -- --dev.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { form } from './lib/form.mjs';
import { sharedData } from './lib/paths.mjs';
import { portraits } from './lib/portraits.mjs';
import { environment, flags, progress } from './lib/report.mjs';
import { startServer } from './lib/server.mjs';
import { cpuOf } from './measure/usage.mjs';

const options = flags({ rounds: 7, requests: 48, json: false });
const others = 16;
const capacity = others / 2;

/** A name → pictures of one face each, the first of them the reference. */
async function scenarios(server) {
  // A pixel more or less makes another file.
  const wishes = Array.from({ length: Math.ceil((others + 1) / 3) }, (_, i) => ({
    width: 640 + i,
    height: 480,
    format: 'jpeg',
  }));
  const cards = (await portraits(server, wishes)).slice(0, others + 1).map(({ bytes }) => bytes);
  const london = sharedData('london');
  const photos = london ? photosIn(london) : await enlarged(cards);
  return { 'cards of 640 × 480': cards, [`photos of ${london ? '1350' : '1350 (enlarged)'} px`]: photos };
}

function photosIn(folder) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.jpg'));
  return names
    .sort()
    .slice(0, others + 1)
    .map((name) => readFileSync(join(folder, name)));
}

const enlarged = (pictures) =>
  Promise.all(pictures.map((bytes) => sharp(bytes).resize(1350, 1350, { fit: 'cover' }).jpeg().toBuffer()));

async function ask(server, fields) {
  const { body, content_type } = form(fields);
  const response = await fetch(`${server.address}/API/v1.0/face/match/upload`, {
    method: 'POST',
    headers: { 'x-api-key': server.key, 'content-type': content_type },
    body,
  });
  const { request_id, timings_ms, ...answer } = await response.json();
  if (response.status !== 200) throw new Error(JSON.stringify(answer));
  return JSON.stringify(answer);
}

/** CPU milliseconds a request, and milliseconds on the wall. */
async function block(server, [reference, ...pictures]) {
  const before = cpuOf(server.pid);
  const begin = performance.now();
  for (let i = 0; i < options.requests; i++) {
    await ask(server, { image1: reference, image2: pictures[i % pictures.length] });
  }
  return {
    cpu: (cpuOf(server.pid) - before) / options.requests,
    wall: (performance.now() - begin) / options.requests,
  };
}

const middle = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

async function measure(name, pictures, plain, caching) {
  for (const image2 of pictures.slice(1, 5)) {
    const fields = { image1: pictures[0], image2 };
    if ((await ask(plain, fields)) !== (await ask(caching, fields))) throw new Error('The answers differ');
  }
  const contenders = [
    ['off', plain],
    ['again', plain],
    ['on', caching],
  ];
  const rounds = [];
  for (let round = 0; round < options.rounds; round++) {
    progress(`${name}: round ${round + 1} of ${options.rounds}`);
    const figures = {};
    for (let i = 0; i < contenders.length; i++) {
      const [contender, server] = contenders[(i + round) % contenders.length];
      figures[contender] = await block(server, pictures);
    }
    rounds.push(figures);
  }
  progress('');
  const ratio = (what, one, other) => middle(rounds.map((each) => each[one][what] / each[other][what]));
  return {
    name,
    cpu_ms: { off: middle(rounds.map(({ off }) => off.cpu)), on: middle(rounds.map(({ on }) => on.cpu)) },
    cpu_ratio: ratio('cpu', 'on', 'off'),
    cpu_noise: ratio('cpu', 'again', 'off'),
    rate_ratio: ratio('wall', 'off', 'on'),
    rate_noise: ratio('wall', 'off', 'again'),
  };
}

const env = { FACEMATCH_WORKERS: '1' };
const plain = await startServer({ env });
const caching = await startServer({ env: { ...env, FACEMATCH_EMBEDDING_CACHE: String(capacity) } });
const results = [];
for (const [name, pictures] of Object.entries(await scenarios(plain))) {
  results.push(await measure(name, pictures, plain, caching));
}
const hits = await caching.metric('facematch_embedding_cache_hits_total');
const misses = await caching.metric('facematch_embedding_cache_misses_total');
await Promise.all([plain.stop(), caching.stop()]);

const machine = environment();
const known = hits / (hits + misses);
if (options.json) {
  console.log(JSON.stringify({ environment: machine, known, results }));
} else {
  const two = (value) => value.toFixed(2);
  console.log(
    `embedding cache on ÷ off, ${options.rounds} rounds of ${options.requests} requests, ${two(100 * known)} % of the pictures known; ${machine.cpu}, Node ${machine.node}, ${machine.commit}`,
  );
  console.log(
    '| one reference with many | CPU-ms a request, off → on | CPU on ÷ off (A/A) | requests/s on ÷ off (A/A) |\n|---|---|---|---|',
  );
  for (const { name, cpu_ms, cpu_ratio, cpu_noise, rate_ratio, rate_noise } of results) {
    console.log(
      `| ${name} | ${cpu_ms.off.toFixed(1)} → ${cpu_ms.on.toFixed(1)} | ${two(cpu_ratio)} (${two(cpu_noise)}) | ${two(rate_ratio)} (${two(rate_noise)}) |`,
    );
  }
}
