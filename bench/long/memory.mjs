// The most memory that the server takes: the images that need most for decoding, on every worker, while uploads fill the
// memory that is set aside for them. It is compared with the sum that SECURITY.md states.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { content_type, form, Load, lasting } from '../../test/support/load.mjs';
import { makeKey, memoryOf, startServer } from '../../test/support/programs.mjs';
import { claim, MiB, mib } from '../../test/support/report.mjs';

export const defaults = { seconds: 60 };
const workers = 2;
const upload_bytes = 256 * MiB;
const max_pixels = 64_000_000;

/** Bodies without their last byte, so that the server keeps them. */
async function fillUploads(port, keys) {
  const part = Buffer.alloc(19 * MiB - 1, 1);
  const holders = [];
  for (const key of keys) {
    for (let held = 0; held + part.length <= upload_bytes / 2; held += part.length) {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      socket.write(
        `POST /API/v1.0/face/match/upload HTTP/1.1\r\nHost: x\r\nx-api-key: ${key}\r\nContent-Type: ${content_type}\r\nContent-Length: ${part.length + 1}\r\n\r\n`,
      );
      await new Promise((resolve) => socket.write(part, resolve));
      holders.push(socket);
    }
  }
  return { holders, bytes: holders.length * part.length };
}

function worstImages() {
  const side = Math.floor(Math.sqrt(max_pixels) / 16) * 16;
  const grey = sharp({ create: { width: side, height: side, channels: 3, background: '#888' } });
  return [
    grey.clone().toColourspace('cmyk').jpeg({ progressive: true }),
    grey.clone().png({ progressive: true, compressionLevel: 9 }),
    grey.clone().ensureAlpha(0.5).webp({ lossless: true }),
    grey.clone().png({ compressionLevel: 9 }).withMetadata({ orientation: 6 }),
  ];
}

export async function prove({ seconds }) {
  const folder = mkdtempSync(join(tmpdir(), 'facematch-memory-'));
  const keysFile = join(folder, 'keys.json');
  // A key may use half of the memory for uploads.
  const [asking, ...holding] = [1, 2, 3].map(() => makeKey(keysFile));
  const { pid, port, stop } = await startServer({
    env: {
      FACEMATCH_KEYS_FILE: keysFile,
      FACEMATCH_WORKERS: String(workers),
      FACEMATCH_UPLOAD_TIMEOUT_MS: '600000',
      FACEMATCH_IDLE_TIMEOUT_S: '600',
    },
  });
  const ready = memoryOf(pid);
  const { holders, bytes } = await fillUploads(port, holding);
  const loads = [];
  for (const image of worstImages()) {
    const file = await image.toBuffer();
    loads.push(new Load({ port, key: asking }, [form({ image1: file, image2: file })]));
  }
  await Promise.all(loads.map((load) => load.closedLoop(1, lasting(seconds))));
  const most = memoryOf(pid, 'VmHWM');
  for (const load of loads) load.close();
  for (const socket of holders) socket.destroy();
  await stop();
  rmSync(folder, { recursive: true });

  const stated = 200 * MiB + workers * 12 * max_pixels + upload_bytes;
  const answers = loads.flatMap((load) => load.answers.map(({ status }) => status));
  const lost = loads.reduce((sum, load) => sum + load.lost, 0);
  const failed = lost + answers.filter((status) => status === 500).length;
  return {
    title: `Memory at most: ${workers} workers, images of ${max_pixels / 1e6} megapixels`,
    facts: {
      ...{ ready_mib: mib(ready), uploads_mib: mib(bytes) },
      ...{ answers: answers.length, statuses: [...new Set(answers)] },
    },
    claims: [
      claim('resident memory at most, MiB', mib(most), `at most ${mib(stated)}`, most <= stated),
      claim('requests without an answer or with 500', failed, 'none', failed === 0),
    ],
  };
}
