// Matches pictures of mixed sizes and formats, and writes how much memory the process holds at some of the counts.
import sharp from 'sharp';
import { load, options, pack, sample } from './addon.mjs';

const counts = process.argv.slice(2).map(Number);
const addon = load();

// As many sizes as are met in practice, from a thumbnail to a photo, so that every scratch buffer changes its size.
const pictures = [];
for (const [i, width] of [240, 1920, 480, 1280, 360, 960].entries()) {
  const format = ['jpeg', 'png', 'webp'][i % 3];
  pictures.push(
    await sharp(sample(1 + i))
      .resize({ width })
      .toFormat(format)
      .toBuffer(),
  );
}
sharp.cache(false);

for (let done = 1; done <= Math.max(...counts); done++) {
  const first = pictures[done % pictures.length];
  const second = pictures[(done * 5 + 1) % pictures.length];
  const body = Buffer.concat([first, second]);
  const outcome = addon.match(
    pack,
    body,
    { start: 0, end: first.length },
    { start: first.length, end: body.length },
    { ...options, min_det_score: 0.5, accuracy_mode: done % 2 === 0 ? 'fast' : 'balance' },
  );
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  if (!counts.includes(done)) continue;
  globalThis.gc();
  process.stdout.write(`${JSON.stringify({ done, rss: process.memoryUsage.rss() })}\n`);
}
