// How much memory the server takes at worst: pictures that decode to the most, on every worker, while uploads fill the memory
// that is set aside for them. Prints the sum that SECURITY.md states beside what was measured.
//   node bench/worst-memory.mjs [--seconds 60]
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import sharp from 'sharp';
import { create } from '../dist/src/gate/key-edits.js';
import { editKeyFile } from '../dist/src/gate/key-file.js';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' } } });
const MiB = 1024 * 1024;
const workers = 2;
const upload_bytes = 256 * MiB;
const max_pixels = 50_000_000;

const folder = mkdtempSync(join(tmpdir(), 'facematch-memory-'));
const keysFile = join(folder, 'keys.json');
const settings = { name: 'bench', scopes: ['match:basic', 'match:advanced'], rate: 1000, burst: 1000 };
const keys = [1, 2, 3].map(
  () => editKeyFile(keysFile, (records) => create(records, settings, Date.now())).key,
);

const server = spawn(process.execPath, ['--max-semi-space-size=4', 'dist/src/cli/index.js', 'serve'], {
  env: {
    ...process.env,
    FACEMATCH_PORT: '0',
    FACEMATCH_ADMIN_PORT: '0',
    FACEMATCH_KEYS_FILE: keysFile,
    FACEMATCH_WORKERS: String(workers),
    FACEMATCH_UPLOAD_TIMEOUT_MS: '600000',
    FACEMATCH_IDLE_TIMEOUT_S: '600',
    FACEMATCH_LOG_LEVEL: 'error',
  },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const port = await new Promise((resolve) => {
  createInterface({ input: server.stdout }).on('line', (line) => resolve(Number(/:(\d+) \(/.exec(line)[1])));
});
const status = (name) => {
  const text = readFileSync(`/proc/${server.pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)[1]) / 1024;
};
const ready_mib = status('VmRSS');

/** Bodies of 19 MiB that lack their last byte, until both keys have their half. */
const part = Buffer.alloc(19 * MiB - 1, 1);
const holders = [];
for (const key of keys.slice(0, 2)) {
  for (let held = 0; held + part.length <= upload_bytes / 2; held += part.length) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.write(
      `POST /API/v1.0/face/match/upload HTTP/1.1\r\nHost: x\r\nx-api-key: ${key}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: ${part.length + 1}\r\n\r\n`,
    );
    await new Promise((resolve) => socket.write(part, resolve));
    holders.push(socket);
  }
}

const side = Math.floor(Math.sqrt(max_pixels) / 16) * 16;
const grey = sharp({ create: { width: side, height: side, channels: 3, background: '#888' } });
const pictures = {
  'JPEG, progressive, CMYK': await grey.clone().toColourspace('cmyk').jpeg({ progressive: true }).toBuffer(),
  'PNG, interlaced': await grey.clone().png({ progressive: true, compressionLevel: 9 }).toBuffer(),
  'WebP, with alpha': await grey.clone().ensureAlpha(0.5).webp({ lossless: true }).toBuffer(),
  'PNG, on its side': await grey
    .clone()
    .png({ compressionLevel: 9 })
    .withMetadata({ orientation: 6 })
    .toBuffer(),
};
const answers = {};
const until = performance.now() + 1000 * Number(values.seconds);
async function ask(bytes) {
  while (performance.now() < until) {
    const form = new FormData();
    for (const name of ['image1', 'image2']) form.set(name, new Blob([bytes]));
    const headers = { 'x-api-key': keys[2] };
    const answer = await fetch(`http://127.0.0.1:${port}/API/v1.0/face/match/upload`, {
      method: 'POST',
      headers,
      body: form,
    });
    const { code = 'ok' } = await answer.json();
    answers[`${answer.status} ${code}`] = (answers[`${answer.status} ${code}`] ?? 0) + 1;
  }
}
await Promise.all(Object.values(pictures).map(ask));

const stated = 200 + (workers * 12 * max_pixels) / MiB + upload_bytes / MiB + 64;
const measured = {
  ready_mib,
  uploads_mib: (holders.length * part.length) / MiB,
  most_mib: status('VmHWM'),
  stated_mib: stated,
  answers,
};
console.log(
  JSON.stringify(measured, (_, value) => (typeof value === 'number' ? Math.round(value) : value), 2),
);
for (const socket of holders) socket.destroy();
server.kill('SIGTERM');
rmSync(folder, { recursive: true });
if (measured.most_mib > stated || Object.keys(answers).some((answer) => answer.startsWith('500')))
  process.exitCode = 1;
