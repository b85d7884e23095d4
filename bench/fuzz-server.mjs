// Fuzzes the server: seeded hostile requests to the real program, whose workers load the addon built with AddressSanitizer and
// UndefinedBehaviorSanitizer.
//   node bench/fuzz-server.mjs [--requests 100000] [--seed 1] [--clients 12] [--heavy 300] [--plain] [--hurry] [--first 0] [--http auto] [--json]
// --heavy   so many bodies of 20 MiB follow, one by one, and the main thread's time for each is compared with that for pictures
// --plain   the release addon, for resident memory without that of a sanitizer
// --hurry   does not wait for timeouts of the server: clients without an answer leave after a second
// --http    what speaks HTTP: uws, node or auto
// --first   begins at that request, to repeat one: --first 4711 --requests 1
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { scopes } from '../dist/src/auth/keys.js';
import { endpointIds } from '../dist/src/config/config.js';
import { content_type, form, parseAnswers } from '../test/support/load.mjs';
import { endOnSignals, mainThreadCpuMsOf, memoryOf, root, startServer } from '../test/support/programs.mjs';
import { Random } from '../test/support/random.mjs';
import { flags, MiB, progress, report } from '../test/support/report.mjs';
import { heavy, plain } from './fuzz/heavy.mjs';
import { fuzzPictures, plan } from './fuzz/plan.mjs';

const options = flags({
  requests: 100_000,
  seed: 1,
  clients: 12,
  heavy: 300,
  first: 0,
  plain: false,
  hurry: false,
  http: 'auto',
  json: false,
});
/** The server's own timeouts end every connection long before. */
const bound_ms = 45_000;
/** Connections that may wait for a timeout of the server while others are served. */
const lingering_most = 400;
const rss_limit = 0.05;
/** The largest body that a server takes unless told otherwise. */
const heavy_bytes = 20 * MiB;
/** How many times the main thread's time for a body of pictures another body of that size may take. */
const heavy_limit = 4;

const addon = join(root, 'build/asan/Release/facematch.node');

function sanitizers() {
  if (!existsSync(addon)) {
    process.stderr.write(
      `There is no ${addon}. Build it with: node scripts/test.mjs native (or try --plain)\n`,
    );
    process.exit(2);
  }
  // The existing one may be of another commit.
  execFileSync('cmake', ['--build', join(root, 'build/asan'), '--target', 'facematch'], { stdio: 'ignore' });
  const library = (name) => execFileSync('gcc', [`-print-file-name=${name}`], { encoding: 'utf8' }).trim();
  return {
    FACEMATCH_ADDON: addon,
    LD_PRELOAD: `${library('libasan.so')} ${library('libubsan.so')}`,
    // A small quarantine, because freed memory in it counts as resident. Leaks show as growth: Node frees little at exit.
    ASAN_OPTIONS:
      'detect_leaks=0:abort_on_error=1:quarantine_size_mb=8:thread_local_quarantine_size_kb=64:allocator_release_to_os_interval_ms=500',
    UBSAN_OPTIONS: 'print_stacktrace=1:abort_on_error=1',
  };
}

endOnSignals();
const server = await startServer({
  env: {
    ...(options.plain ? {} : sanitizers()),
    FACEMATCH_HTTP: options.http,
    FACEMATCH_WORKERS: '2',
    // Large enough for all clients at once: one against sixteen counts as many pictures.
    FACEMATCH_QUEUE: '200',
    FACEMATCH_ENDPOINTS: endpointIds.join(','),
    FACEMATCH_IDLE_TIMEOUT_S: '2',
    FACEMATCH_UPLOAD_TIMEOUT_MS: '4000',
    // Some requests have wrong keys, and must not be slowed down.
    FACEMATCH_AUTH_FAILURES_PER_MINUTE: '60000',
    FACEMATCH_AUTH_FAILURE_BURST: '60000',
  },
  limits: { scopes: scopes.join(',') },
});
let dead;
void server.ended.then((end) => {
  dead = end;
});

const pictures = await fuzzPictures(options.seed);
const world = { key: server.key, question: await question(), ...pictures };
const kinds = {};
const statuses = {};
const faults = [];
const counts = { left: 0, closed: 0, answers: 0 };

const fault = (index, kind, what) => {
  if (faults.length < 20) faults.push(`request ${index} (${kind}): ${what}`);
};

function judge(index, { kind, expects, leaves }, { answers, left, closed, hung }) {
  kinds[kind] = (kinds[kind] ?? 0) + 1;
  counts.left += left;
  counts.closed += closed;
  for (const { status, json, body } of answers) {
    counts.answers += 1;
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status === 500) fault(index, kind, `500 ${body}`);
    if (!json || body.length === 0) continue;
    try {
      JSON.parse(body);
    } catch {
      fault(index, kind, `its answer is no JSON: ${body.subarray(0, 200)}`);
    }
  }
  if (hung) fault(index, kind, `neither answered nor closed within ${bound_ms} ms`);
  if (leaves !== undefined || hung || dead) return;
  const [first] = answers;
  if (expects === 'answer' && first === undefined) fault(index, kind, 'closed without an answer');
  if (expects === 'ok' && first?.status !== 200) fault(index, kind, `expected 200 but got ${first?.status}`);
}

const lingering = new Set();

async function one(index) {
  const planned = plan(Random.at(options.seed, index), world);
  if (options.hurry && planned.expects === 'end') planned.patience_ms ??= 1000;
  const conversation = converse(server.port, planned, bound_ms).then((result) => {
    lingering.delete(conversation);
    judge(index, planned, result);
  });
  lingering.add(conversation);
  // A connection that waits for a timeout of the server must not delay the others.
  let timer;
  await Promise.race([conversation, new Promise((resolve) => (timer = setTimeout(resolve, 1000)))]);
  clearTimeout(timer);
  while (lingering.size > lingering_most) await Promise.race(lingering);
}

/** Requests `from` to `end`; resolves when every connection has ended. */
async function run(from, end) {
  let next = from;
  const client = async () => {
    while (next < end && !dead) {
      if (next % 500 === 0) progress(`${next} requests, ${lingering.size} open`);
      await one(next++);
    }
  };
  await Promise.all(Array.from({ length: options.clients }, client));
  await Promise.all(lingering);
}

/** A valid body for match/embeddings, with embeddings from the server. */
async function question() {
  const response = await fetch(`${server.address}/API/v1.0/face/embed/upload`, {
    method: 'POST',
    headers: { 'x-api-key': server.key, 'content-type': content_type },
    body: form({ image: pictures.good[0], accuracy_mode: 'fast' }),
  });
  const { image, embedding } = await response.json();
  const { pack, version, accuracy_mode } = embedding;
  const [face] = image.faces;
  const candidates = [1, 2, 3].map((id) => ({ id: String(id), embedding: face.embedding }));
  return { embedding: face.embedding, candidates, pack, version, accuracy_mode };
}

/** The answer to a match, without the parts that differ between requests. */
async function validAnswer() {
  const body = form({ image1: pictures.good[0], image2: pictures.good[3] });
  const response = await fetch(`${server.address}/API/v1.0/face/match/upload`, {
    method: 'POST',
    headers: { 'x-api-key': server.key, 'content-type': content_type },
    body,
  });
  const { request_id: _, timings_ms: __, ...answer } = await response.json();
  return JSON.stringify({ status: response.status, ...answer });
}

/** Milliseconds of the main thread for one body. */
async function mainMsOf({ path, content_type, body, what }) {
  const started_ms = mainThreadCpuMsOf(server.pid);
  const response = await fetch(`${server.address}${path}`, {
    method: 'POST',
    headers: { 'x-api-key': server.key, 'content-type': content_type },
    body,
  });
  await response.arrayBuffer();
  if (response.status >= 500) faults.push(`${what}: ${response.status}`);
  // What is left to do after the answer, such as freeing the body.
  await new Promise((resolve) => setTimeout(resolve, 20));
  return mainThreadCpuMsOf(server.pid) - started_ms;
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** The slowest of so many heavy bodies: [{ what, ms, ratio }]. What seems slow is tried twice more, and its least time counts. */
async function slowestOf(count) {
  const pictures = plain(heavy_bytes);
  const usual = Object.fromEntries(pictures.map(({ is }) => [is, []]));
  const askPlain = async () => {
    for (const body of pictures) usual[body.is].push(await mainMsOf(body));
  };
  // The first ones are slower: nothing is compiled yet.
  await askPlain();
  for (const body of pictures) usual[body.is].length = 0;
  for (let turn = 0; turn < 5; turn++) await askPlain();
  const seen = [];
  for (let index = 0; index < count && !dead; index++) {
    if (index % 20 === 0) {
      progress(`${index} heavy bodies`);
      await askPlain();
    }
    const body = heavy(Random.at(options.seed, index), heavy_bytes);
    let ms = await mainMsOf(body);
    for (let again = 0; again < 2 && ms > 2 * median(usual[body.is]); again++) {
      ms = Math.min(ms, await mainMsOf(body));
    }
    seen.push({ what: body.what, is: body.is, ms });
  }
  const all = seen.map(({ what, is, ms }) => ({ what, ms: Math.round(ms), ratio: ms / median(usual[is]) }));
  const plain_ms = Object.entries(usual).map(([is, times]) => `${is} ${Math.round(median(times))}`);
  return { plain_ms: plain_ms.join(', '), slowest: all.sort((a, b) => b.ratio - a.ratio).slice(0, 8) };
}

const mib = (bytes) => Math.round((bytes / MiB) * 10) / 10;
const early = options.first + Math.min(5000, Math.ceil(options.requests / 4));
const started = performance.now();
const expected = await validAnswer();
const rss = [];
let done = options.first;
const marks = [
  early,
  ...(options.requests < 20_000 ? [10] : [2, 4, 6, 8, 10]).map(
    (tenth) => options.first + Math.round((options.requests * tenth) / 10),
  ),
];
for (const mark of marks.filter((mark, index) => index === 0 || mark > early)) {
  await run(done, mark);
  done = mark;
  if (dead) break;
  rss.push({ requests: mark - options.first, mib: mib(memoryOf(server.pid)) });
  progress('');
  if (!options.json) console.log(`${rss.at(-1).requests} requests: ${rss.at(-1).mib} MiB`);
}
const seconds = (performance.now() - started) / 1000;
const heaviest = options.heavy > 0 && !dead ? await slowestOf(options.heavy) : undefined;
const alive = dead === undefined;
// Before the metrics, which would count it as still held.
const answered = alive ? await validAnswer() : undefined;
const [unanswered, busy, held] = alive
  ? await Promise.all([
      server.metric('facematch_requests_unanswered'),
      server.metric('facematch_workers_busy'),
      server.metric('facematch_upload_bytes'),
    ])
  : [];
const { code, signal } = await server.stop();
const reports = server
  .log()
  .split('\n')
  .filter((line) => line !== '' && (!line.startsWith('{') || line.includes('"fault"')));

const growth = rss.length > 0 ? rss.at(-1).mib / rss[0].mib - 1 : Number.NaN;
const percent = (share) => `${(share * 100).toFixed(2)} %`;
report({
  title: `Fuzz: ${done - options.first} requests, ${options.plain ? 'release addon' : 'addon under ASan and UBSan'}`,
  json: options.json,
  facts: {
    seed: options.seed,
    seconds: Math.round(seconds),
    damaged_pictures: `${pictures.damaged.length}, ${pictures.from_corpus} of them from the shared corpus`,
    kinds,
    statuses,
    ...counts,
    rss,
    ...(heaviest && {
      'main thread, ms for a body of 20 MiB of pictures': heaviest.plain_ms,
      'the slowest others': heaviest.slowest.map(
        ({ what, ms, ratio }) => `${ms} ms, ${ratio.toFixed(1)} times: ${what}`,
      ),
    }),
  },
  claims: [
    {
      what: 'the server lived to the end and ended by itself when asked',
      found: alive ? (signal ?? `exit ${code}`) : `died: ${JSON.stringify(dead)}\n${reports.join('\n')}`,
      limit: 'exit 0',
      ok: alive && code === 0,
    },
    {
      what: 'faults in its log',
      found: reports.slice(0, 5).join('\n') || 'none',
      limit: 'none',
      ok: reports.length === 0,
    },
    {
      what: 'requests that hung, were answered 500, were not answered, or were wrongly answered',
      found: faults.join('\n') || 'none',
      limit: 'none',
      ok: faults.length === 0,
    },
    {
      what: 'a valid request is answered at the end as at the beginning',
      found: answered === expected ? 'the same' : `${answered} instead of ${expected}`,
      limit: 'the same',
      ok: answered === expected && expected.startsWith('{"status":200'),
    },
    {
      what: 'requests, workers and upload bytes still held',
      found: `${unanswered}, ${busy}, ${held}`,
      limit: '0, 0, 0',
      ok: unanswered === 0 && busy === 0 && held === 0,
    },
    ...(heaviest === undefined
      ? []
      : [
          {
            what: `main thread's time for the slowest of ${options.heavy} bodies of 20 MiB, over that for pictures`,
            found: heaviest.slowest[0].ratio.toFixed(2),
            limit: `at most ${heavy_limit}`,
            ok: heaviest.slowest[0].ratio <= heavy_limit,
          },
        ]),
    {
      what: `RSS at the end over RSS after ${rss[0]?.requests} requests`,
      found: percent(growth),
      limit: options.requests >= 20_000 ? `at most ${percent(rss_limit)}` : 'not judged in a short run',
      ok: options.requests < 20_000 || growth <= rss_limit,
    },
  ],
});

/**
 * One connection from its first byte to its end, by a plan. Resolves to { answers, left, closed, hung }: `left` when the client disconnected by plan, `closed` when the server closed the
 * connection, `hung` when neither that nor an answer happened within `bound_ms`.
 */
function converse(port, plan, bound_ms) {
  return new Promise((resolve) => {
    const { bytes, cuts, leaves, leavesAt, patience_ms, resets, answers: wanted } = plan;
    const isHead = bytes.subarray(0, 5).toString('latin1') === 'HEAD ';
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const received = [];
    let over = false;
    const finish = (how) => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      if (how !== 'closed' && resets) socket.resetAndDestroy();
      else socket.destroy();
      const whole = parseAnswers(Buffer.concat(received), isHead);
      resolve({ answers: whole, left: how === 'left', closed: how === 'closed', hung: how === 'hung' });
    };
    const timer = setTimeout(
      () => finish(patience_ms === undefined ? 'hung' : 'left'),
      patience_ms ?? bound_ms,
    );
    socket.on('error', () => {});
    socket.on('close', () => finish('closed'));
    socket.on('data', (data) => {
      received.push(data);
      if (leaves === 'answering') return finish('left');
      if (parseAnswers(Buffer.concat(received), isHead).length >= wanted) finish('answered');
    });
    const end = leaves === 'sending' ? leavesAt : bytes.length;
    const stops = [...cuts.filter((at) => at < end), end];
    const send = (from, index) => {
      if (over) return;
      const to = stops[index];
      const next = () => {
        if (index + 1 < stops.length) setImmediate(send, to, index + 1);
        else if (leaves === 'sending' || leaves === 'waiting') finish('left');
      };
      if (to > from) socket.write(bytes.subarray(from, to), next);
      else next();
    };
    socket.on('connect', () => send(0, 0));
  });
}
