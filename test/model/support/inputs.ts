import sharp from 'sharp';
import { inputShape, meanOf } from '../../../models/prepare/verify.ts';
import { projectPath } from '../../../src/config/paths.ts';
import type { OwnNet } from './originals.ts';

/** Parts of the photos of @vladmandic/face-api as input of a net: channels first, (byte − mean) × scale. */
export async function photoInputs(net: OwnNet): Promise<Float32Array[]> {
  const [, channels, height, width] = inputShape(net) as [number, number, number, number];
  const pixels = width * height;
  const photos = [1, 2, 3, 4, 5, 6].map((number) =>
    projectPath(`node_modules/@vladmandic/face-api/demo/sample${number}.jpg`),
  );
  return Promise.all(
    photos.map(async (photo) => {
      const part = sharp(photo)
        .resize(width * 2, height * 2, { fit: 'cover' })
        .extract({ left: width / 2, top: height / 4, width, height });
      const data = await (channels === 1 ? part.greyscale() : part).raw().toBuffer();
      return Float32Array.from({ length: pixels * channels }, (_, i) => {
        const channel = Math.floor(i / pixels);
        const pixel = i % pixels;
        const place = net.channels === 'bgr' ? 2 - channel : channel;
        return (data[pixel * channels + place]! - meanOf(net, channel)) * net.scale;
      });
    }),
  );
}
