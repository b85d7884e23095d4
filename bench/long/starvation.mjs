// Measures how long one key waits while another key sends expensive requests, to a server with two workers. Key B
// sends one match after another. Key A sends matches, as the reference, and then expensive requests.
import { randomFillSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { content_type, form, Load, lasting } from '../../test/support/load.mjs';
import { cutOuts, portraits } from '../../test/support/portraits.mjs';
import { makeKey, startServer } from '../../test/support/programs.mjs';
import { claim, MiB, progress, quantile, round1 } from '../../test/support/report.mjs';

export const defaults = { rounds: 3, seconds: 10, connections: 2, uploads: 100 };
const workers = 2;
const max_ratio = 2.5;
const scopes = 'match:basic,match:many,match:person,detect';
const url = (name) => `/API/v1.0/face/${name}`;

/** Returns two bodies close to the maximum size: two base64 images of random bytes, and a string of escapes. */
function largeJson() {
  const image = randomFillSync(Buffer.alloc(10 * MiB - 1024)).toString('base64');
  return [
    Buffer.from(JSON.stringify({ image1: image, image2: image })),
    Buffer.from(`{"a":"${'\\/'.repeat(13 * MiB)}"}`),
  ];
}

/** Resolves to a JPEG of 12 megapixels with 108 faces. */
async function crowd() {
  const faces = await Promise.all(cutOuts().map((face) => face.resize(330, 330).toBuffer()));
  const places = Array.from({ length: 108 }, (_item, at) => ({
    input: faces[at % faces.length],
    left: 333 * (at % 12),
    top: 333 * Math.floor(at / 12),
  }));
  const page = sharp({ create: { width: 4000, height: 3000, channels: 3, background: '#789' } });
  return page.composite(places).jpeg({ quality: 90 }).toBuffer();
}

/** Resolves to a PNG of 64 megapixels and almost 20 MiB: a face above rows of noise, which cannot be compressed. */
async function largePng() {
  const side = 8000;
  const [face] = cutOuts();
  const pixels = await face.resize(side, side).removeAlpha().raw().toBuffer();
  const noise = 13 * MiB;
  randomFillSync(pixels, pixels.length - noise, noise);
  // Repeats each sixteenth row 15 times. Equal rows compress well, which leaves room for the noise in the file.
  for (let row = 0; row < side - Math.ceil(noise / (3 * side)); row++) {
    const from = 3 * side * (row - (row % 16));
    if (row % 16 > 0) pixels.copyWithin(3 * side * row, from, from + 3 * side);
  }
  const raw = { width: side, height: side, channels: 3 };
  return sharp(pixels, { raw }).png({ compressionLevel: 6 }).toBuffer();
}

/** Sends two thirds of a large body in small pieces, and disconnects. */
function slowUpload(port, key, bytes) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.write(
      `POST ${url('match/upload')} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: ${key}\r\nContent-Type: ${content_type}\r\nContent-Length: ${Math.round(bytes.length * 1.5)}\r\n\r\n`,
    );
    let sent = 0;
    const timer = setInterval(() => {
      socket.write(bytes.subarray(sent, sent + 1500));
      sent += 1500;
      if (sent >= bytes.length) socket.destroy();
    }, 20);
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(timer);
      resolve();
    });
  });
}

const countsOf = (responses) => {
  const counts = {};
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

export async function prove({ rounds: count, seconds, connections, uploads, json }) {
  const folder = mkdtempSync(join(tmpdir(), 'facematch-starvation-'));
  const keysFile = join(folder, 'keys.json');
  const keys = Object.fromEntries(['a', 'b'].map((name) => [name, makeKey(keysFile, { scopes })]));
  const [image, ...others] = (await portraits([{ width: 640, height: 480, format: 'jpeg' }])).map(
    ({ bytes }) => bytes,
  );
  const matches = [form({ image1: image, image2: others[0] })];
  const sixteen = Array.from({ length: 16 }, (_item, at) => others[at % others.length]);
  const four = Array(4).fill(image);
  const slow = form({ image1: randomFillSync(Buffer.alloc(3 * MiB)), image2: image });
  const large = await largePng();
  const loads = {
    matches: { bodies: matches },
    'images of 108 faces': { path: url('detect/upload'), bodies: [form({ image: await crowd() })] },
    'one against 16': {
      path: url('match/upload/many'),
      bodies: [form({ image1: image, image2: sixteen })],
    },
    'people of 4 and 16 photos': {
      path: url('match/upload/person'),
      bodies: [form({ image1: four, image2: sixteen })],
    },
    'PNGs of 64 megapixels': { path: url('detect/upload'), bodies: [form({ image: large })] },
    'JSON of 27 MiB': { content_type: 'application/json', bodies: largeJson() },
    'slow uploads': { slow },
  };
  const server = await startServer({
    env: {
      FACEMATCH_WORKERS: String(workers),
      FACEMATCH_KEYS_FILE: keysFile,
      FACEMATCH_MAX_IMAGE_BYTES: String(20 * MiB),
    },
  });
  const { port } = server;
  // Warms up for 2 s, so that JIT compilation does not affect the measurement.
  await new Load({ port, key: keys.a }, matches).closedLoop(2, lasting(2));

  /** Resolves to the latencies and statuses of key B while key A sends load. */
  async function measureDuring({ slow: upload, bodies, ...target }) {
    let isOn = true;
    const a = upload ? undefined : new Load({ port, key: keys.a, ...target }, bodies);
    const running = upload
      ? Array.from({ length: uploads }, async () => {
          while (isOn) await slowUpload(port, keys.a, upload);
        })
      : [a.closedLoop(connections, () => isOn)];
    await sleep(1500);
    const b = new Load({ port, key: keys.b }, matches);
    await b.closedLoop(1, lasting(seconds));
    isOn = false;
    await Promise.all(running);
    a?.close();
    b.close();
    const times = b.responses.map(({ ms }) => ms);
    return {
      median_ms: round1(quantile(times, 0.5)),
      max_ms: round1(Math.max(...times)),
      b: countsOf(b.responses),
      a: a ? countsOf(a.responses) : {},
      faults: b.lost + b.stray,
    };
  }

  const seen = Object.fromEntries(Object.keys(loads).map((name) => [name, []]));
  const load_before = round1(loadavg()[0]);
  for (let number = 1; number <= count; number++) {
    for (const [name, load] of Object.entries(loads)) {
      progress(`round ${number} of ${count}: ${name}`);
      seen[name].push(await measureDuring(load));
      progress('');
      if (!json) console.log(name.padEnd(28), JSON.stringify(seen[name].at(-1)));
    }
  }
  const { code, signal } = await server.stop();
  rmSync(folder, { recursive: true, force: true });
  const medians = Object.fromEntries(
    Object.entries(seen).map(([name, all]) => [
      name,
      quantile(
        all.map(({ median_ms }) => median_ms),
        0.5,
      ),
    ]),
  );
  const ratio = (name) => Math.round((100 * medians[name]) / medians.matches) / 100;
  const all = Object.values(seen).flat();
  const tooLarge = all.reduce((sum, { a }) => sum + (a[413] ?? 0), 0);
  const failed = all.filter(({ b, faults }) => faults > 0 || Object.keys(b).join() !== '200');
  return {
    title: `Starvation: key B while key A sends load, ${workers} workers, ${connections} connections of A (slow uploads: ${uploads}), ${count} rounds of ${seconds} s`,
    facts: { load_before, large_png_mib: round1(large.length / MiB), medians, rounds: seen },
    claims: [
      ...Object.keys(loads)
        .slice(1)
        .map((name) =>
          claim(
            `median latency of B during ${name} ÷ that during matches`,
            `${ratio(name)} (${medians[name]} ÷ ${medians.matches} ms)`,
            `at most ${max_ratio}`,
            ratio(name) <= max_ratio,
          ),
        ),
      claim('413 responses to A', String(tooLarge), '0', tooLarge === 0),
      claim(
        'runs in which B got a status other than 200, or no response',
        JSON.stringify(failed),
        '[]',
        failed.length === 0,
      ),
      claim('the server exits on SIGTERM', signal ?? `exit ${code}`, 'exit 0', code === 0),
    ],
  };
}
