// Fuzzes the server with hostile requests from a seed. The workers load the addon built with AddressSanitizer and
// UndefinedBehaviorSanitizer.
//   node bench/fuzz-server.mjs [--requests 100000] [--seed 1] [--heavy 300] [--plain] [--hurry] [--first 0] [--http auto] [--json]
// --heavy   number of bodies of 20 MiB to send afterwards; measures the main thread's CPU time for each
// --plain   use the release addon, to measure resident memory without a sanitizer
// --hurry   after a second, disconnect clients that may get no response, instead of waiting for server timeouts
// --http    HTTP server: uws, node or auto
// --first   number of the first request; to repeat one: --first 4711 --requests 1
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { scopes } from '../dist/src/auth/keys.js';
import { endpointIds } from '../dist/src/config/config.js';
import { form, content_type as formType, parseResponses } from '../test/support/load.mjs';
import { endOnSignals, memoryOf, root, startServer } from '../test/support/programs.mjs';
import { Random } from '../test/support/random.mjs';
import { claim, flags, MiB, marksOf, mib, percent, progress, report } from '../test/support/report.mjs';
import { without } from '../test/support/without.mjs';
import { slowestOf } from './fuzz/heavy.mjs';
import { fuzzImages, plan } from './fuzz/plan.mjs';

const options = flags({
  requests: 100_000,
  seed: 1,
  heavy: 300,
  first: 0,
  plain: false,
  hurry: false,
  http: 'auto',
  json: false,
});
/** Maximum time of a connection. The server's own timeouts are much shorter. */
const bound_ms = 45_000;
const clients = 12;
/** Maximum number of connections that wait for a timeout of the server. */
const max_lingering = 400;
const max_rss_growth = 0.05;
/** Default maximum body size of the server. */
const heavy_bytes = 20 * MiB;
/** Maximum ratio of the main thread's CPU time for a body to that for images of the same size. */
const max_heavy_ratio = 4;

function sanitizers() {
  const addon = join(root, 'build/asan/Release/facematch.node');
  if (!existsSync(addon)) {
    process.stderr.write(
      `${addon} does not exist. Build it with node scripts/test.mjs slow/native, or use --plain.\n`,
    );
    process.exit(2);
  }
  // The existing build may be out of date.
  execFileSync('cmake', ['--build', join(root, 'build/asan'), '--target', 'facematch'], { stdio: 'ignore' });
  const library = (name) => execFileSync('gcc', [`-print-file-name=${name}`], { encoding: 'utf8' }).trim();
  return {
    FACEMATCH_ADDON: addon,
    LD_PRELOAD: `${library('libasan.so')} ${library('libubsan.so')}`,
    // The quarantine is small, because freed memory in it counts as resident. An allocation records one stack frame,
    // because ASan keeps every distinct stack: whole stacks filled 70 MiB after 4,000 requests. For whole stacks,
    // repeat the request with ASAN_OPTIONS=malloc_context_size=30. Leak detection is off, because Node.js frees little
    // memory at exit.
    ASAN_OPTIONS: `detect_leaks=0:abort_on_error=1:quarantine_size_mb=8:thread_local_quarantine_size_kb=64:allocator_release_to_os_interval_ms=500:malloc_context_size=1:${process.env.ASAN_OPTIONS ?? ''}`,
    UBSAN_OPTIONS: 'print_stacktrace=1:abort_on_error=1',
  };
}

endOnSignals();
const server = await startServer({
  env: {
    ...(options.plain ? {} : sanitizers()),
    FACEMATCH_HTTP: options.http,
    FACEMATCH_WORKERS: '2',
    // Large enough for all clients. A place holds two images, and a one-to-many match has up to 17.
    FACEMATCH_QUEUE_CAPACITY: '200',
    // A request may wait longer than the default if sanitizers run on a busy machine.
    FACEMATCH_DEADLINE_MS: '40000',
    FACEMATCH_ENDPOINTS: endpointIds.join(','),
    FACEMATCH_UPLOAD_IDLE_TIMEOUT_S: '2',
    FACEMATCH_UPLOAD_TIMEOUT_MS: '4000',
    // Some requests have wrong keys, and must not be rate-limited.
    FACEMATCH_AUTH_FAILURES_PER_MINUTE: '60000',
    FACEMATCH_AUTH_FAILURE_BURST: '60000',
  },
  limits: { scopes: scopes.join(',') },
});
let dead;
void server.ended.then((end) => {
  dead = end;
});

function ask(path, body, content_type = formType) {
  const headers = { 'x-api-key': server.key, 'content-type': content_type };
  return fetch(server.origin + path, { method: 'POST', headers, body });
}

/** Resolves to a valid body for match/embeddings, with embeddings from the server. */
async function requestOf(bytes) {
  const response = await ask('/API/v1.0/face/embed/upload', form({ image: bytes, accuracy_mode: 'fast' }));
  const { image, embedding: how } = await response.json();
  const { pack, version, accuracy_mode } = how;
  const [{ embedding }] = image.faces;
  const people = [{ embedding }, { embeddings: [embedding] }, { embeddings: [embedding, embedding] }];
  const candidates = people.map((one, id) => ({ id: String(id), ...one }));
  return { embedding, candidates, pack, version, accuracy_mode };
}

/** Resolves to the response to a valid match, without the members that differ between requests. */
async function validResponse() {
  const body = form({ image1: images.good[0], image2: images.good[3] });
  const response = await ask('/API/v1.0/face/match/upload', body);
  const content = without(await response.json(), 'request_id', 'timings_ms');
  return JSON.stringify({ status: response.status, ...content });
}

const images = await fuzzImages(options.seed);
const world = { key: server.key, request: await requestOf(images.good[0]), ...images };
const kinds = {};
const statuses = {};
const faults = [];
const counts = { left: 0, closed: 0, responses: 0 };

function judge(index, { kind, expects, leaves }, { responses, how }) {
  const fault = (what) => faults.push(`request ${index} (${kind}): ${what}`);
  kinds[kind] = (kinds[kind] ?? 0) + 1;
  if (how in counts) counts[how] += 1;
  for (const { status, json, body } of responses) {
    counts.responses += 1;
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status === 500) fault(`500 ${body}`);
    if (!json || body.length === 0) continue;
    try {
      JSON.parse(body);
    } catch {
      fault(`the response is not JSON: ${body.subarray(0, 200)}`);
    }
  }
  const [first] = responses;
  if (how === 'hung') fault(`no response and no close within ${bound_ms} ms`);
  else if (leaves !== undefined || dead) return;
  else if (expects === 'response' && first === undefined) fault('closed without a response');
  else if (expects === 'ok' && first?.status !== 200) fault(`expected 200 but got ${first?.status}`);
}

/**
 * Opens one planned connection. Resolves to { responses, how }. `how` is `responded`, `left` if the client
 * disconnected as planned, `closed` if the server closed the connection, and `hung` if none of these happened within
 * `bound_ms`.
 */
function converse({ bytes, cuts, leaves, leavesAt, patience_ms, resets, responses: wanted }) {
  return new Promise((resolve) => {
    const isHead = bytes.subarray(0, 5).toString('latin1') === 'HEAD ';
    const socket = connect({ port: server.port, host: '127.0.0.1', noDelay: true });
    let received = Buffer.alloc(0);
    const finish = (how) => {
      clearTimeout(timer);
      if (how !== 'closed' && resets) socket.resetAndDestroy();
      else socket.destroy();
      resolve({ responses: parseResponses(received, isHead), how });
    };
    const timer = setTimeout(finish, patience_ms ?? bound_ms, patience_ms === undefined ? 'hung' : 'left');
    socket.on('error', () => {});
    socket.on('close', () => finish('closed'));
    socket.on('data', (data) => {
      received = Buffer.concat([received, data]);
      if (leaves === 'responding') finish('left');
      else if (parseResponses(received, isHead).length >= wanted) finish('responded');
    });
    socket.on('connect', async () => {
      const end = leaves === 'sending' ? leavesAt : bytes.length;
      let sent = 0;
      for (const stop of [...cuts.filter((at) => at < end), end]) {
        await new Promise((written) => socket.write(bytes.subarray(sent, stop), written));
        // Lets a response arrive before the next write: a write to a closed connection would discard it.
        await turn();
        sent = stop;
      }
      if (leaves === 'sending' || leaves === 'waiting') finish('left');
    });
  });
}

const lingering = new Set();

async function one(index) {
  const planned = plan(Random.at(options.seed, index), world);
  if (options.hurry && planned.expects === 'end') planned.patience_ms ??= 1000;
  const conversation = converse(planned).then((result) => {
    lingering.delete(conversation);
    judge(index, planned, result);
  });
  lingering.add(conversation);
  // Stops waiting after a second, so that a connection with a slow timeout does not delay the others.
  const over = new AbortController();
  await Promise.race([conversation, sleep(1000, undefined, { signal: over.signal }).catch(() => {})]);
  over.abort();
  while (lingering.size > max_lingering) await Promise.race(lingering);
}

/** Sends the requests from `from` to `end` - 1, and resolves when every connection has ended. */
async function run(from, end) {
  let next = from;
  const client = async () => {
    while (next < end && !dead) {
      if (next % 500 === 0) progress(`${next} requests, ${lingering.size} open`);
      await one(next++);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  await Promise.all(lingering);
}

const checksMemory = options.requests >= 20_000;
const started = performance.now();
const expected = await validResponse();
const rss = [];
let done = options.first;
for (const mark of marksOf(
  options.requests,
  Math.min(5000, Math.ceil(options.requests / 4)),
  checksMemory ? 5 : 1,
)) {
  await run(done, options.first + mark);
  done = options.first + mark;
  if (dead) break;
  rss.push({ requests: mark, mib: mib(memoryOf(server.pid)) });
  progress('');
  if (!options.json) console.log(`${mark} requests: ${rss.at(-1).mib} MiB`);
}
const seconds = Math.round((performance.now() - started) / 1000);
const heaviest =
  options.heavy > 0 && !dead
    ? await slowestOf({
        ...{ count: options.heavy, seed: options.seed, bytes: heavy_bytes },
        ...{ ask, pid: server.pid, isDead: () => dead !== undefined, onFault: (what) => faults.push(what) },
      })
    : undefined;
const alive = dead === undefined;
// Completes this request before it reads the metrics, so that they do not count it.
const repeated = alive ? await validResponse() : undefined;
const held = [];
for (const name of alive ? ['requests_in_flight', 'workers_busy', 'upload_memory_bytes'] : [])
  held.push(await server.metric(`facematch_${name}`));
const { code, signal } = await server.stop();
const logged = server
  .log()
  .split('\n')
  .filter((line) => line !== '' && (!line.startsWith('{') || line.includes('"fault"')));
const growth = rss.length > 0 ? rss.at(-1).mib / rss[0].mib - 1 : Number.NaN;
const slowest = heaviest?.slowest ?? [];

report({
  title: `Fuzz: ${done - options.first} requests, ${options.plain ? 'release addon' : 'addon under ASan and UBSan'}`,
  json: options.json,
  facts: {
    seed: options.seed,
    seconds,
    damaged_images: `${images.damaged.length}, ${images.from_corpus} of them from the shared corpus`,
    kinds,
    statuses,
    ...counts,
    rss,
    ...(heaviest && {
      'main thread, ms for a body of 20 MiB of images': heaviest.usual_ms,
      'slowest bodies': slowest.map(
        ({ what, ms, ratio }) => `${ms} ms, ${ratio.toFixed(1)} × usual: ${what}`,
      ),
    }),
  },
  claims: [
    claim(
      'the server survives all requests and exits on SIGTERM',
      alive ? (signal ?? `exit ${code}`) : `crashed: ${JSON.stringify(dead)}\n${logged.join('\n')}`,
      'exit 0',
      alive && code === 0,
    ),
    claim('faults in the log', logged.slice(0, 5).join('\n') || 'none', 'none', logged.length === 0),
    claim(
      'requests that hung, got 500, got no response, or got a wrong response',
      faults.slice(0, 20).join('\n') || 'none',
      'none',
      faults.length === 0,
    ),
    claim(
      'a valid request gets the same response at the end',
      repeated === expected ? 'the same' : `${repeated} instead of ${expected}`,
      'the same',
      repeated === expected && expected.startsWith('{"status":200'),
    ),
    claim('requests in flight, busy workers, upload bytes', held.join(), '0,0,0', held.join() === '0,0,0'),
    ...slowest
      .slice(0, 1)
      .map(({ ratio }) =>
        claim(
          `main thread's CPU time for the slowest of ${options.heavy} bodies of 20 MiB ÷ that for images`,
          ratio.toFixed(2),
          `at most ${max_heavy_ratio}`,
          ratio <= max_heavy_ratio,
        ),
      ),
    claim(
      `growth of RSS after the first ${rss[0]?.requests} requests`,
      percent(growth),
      checksMemory ? `at most ${percent(max_rss_growth)}` : 'not checked in a short run',
      !checksMemory || growth <= max_rss_growth,
    ),
  ],
});
