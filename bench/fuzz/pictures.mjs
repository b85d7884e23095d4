// Pictures for the fuzzer: valid ones and a corpus of damaged ones.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { portraits } from '../../test/support/portraits.mjs';
import { Random } from '../../test/support/random.mjs';
import { sharedData } from '../lib/data.mjs';
import { mutate } from './bodies.mjs';

/** Larger pictures cost time and test nothing more. */
const most_bytes = 300_000;

/** Files of the shared corpus; none when there is no such folder. */
function corpus() {
  const folder = sharedData('corrupt');
  if (folder === undefined) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
    .filter((bytes) => bytes.length <= most_bytes);
}

/** Kinds of pictures that decoders had bugs with, made here and then damaged. */
async function drawn(seed) {
  const base = () =>
    sharp({
      create: { width: 90, height: 70, channels: 4, background: { r: 200, g: 120, b: 40, alpha: 0.5 } },
    });
  const made = await Promise.all([
    base().jpeg({ progressive: true }).toBuffer(),
    base().jpeg({ chromaSubsampling: '4:4:4', quality: 5 }).toBuffer(),
    base().grayscale().jpeg().toBuffer(),
    base().toColourspace('cmyk').jpeg().toBuffer(),
    base().withMetadata({ orientation: 6 }).jpeg().toBuffer(),
    base().png({ palette: true }).toBuffer(),
    base().png({ progressive: true }).toBuffer(),
    base().toColourspace('rgb16').png().toBuffer(),
    base().webp({ lossless: true }).toBuffer(),
    base().webp({ quality: 1 }).toBuffer(),
    base().gif().toBuffer(),
    base().tiff().toBuffer(),
  ]);
  const random = new Random(seed);
  return made.flatMap((bytes) => [bytes, ...Array.from({ length: 10 }, () => mutate(bytes, random))]);
}

/** { good, damaged, from_corpus }: lists of bytes, and how many of the damaged ones are from the shared corpus. */
export async function fuzzPictures(seed) {
  const formats = ['jpeg', 'png', 'webp'];
  const good = await portraits(formats.map((format) => ({ width: 200, height: 200, format })));
  const files = corpus();
  return {
    good: good.map(({ bytes }) => bytes),
    damaged: [...files, ...(await drawn(seed))],
    from_corpus: files.length,
  };
}
