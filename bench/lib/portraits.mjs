// Pictures with a face, cut out of a package's sample photos where the server itself says that one is, and scaled to the
// sizes that people send.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { fetch } from 'undici';
import { form } from './form.mjs';
import { root } from './server.mjs';

const photos = [1, 2, 3].map((number) =>
  readFileSync(join(root, `node_modules/@vladmandic/face-api/demo/sample${number}.jpg`)),
);

/** Side of the cut-out in heights of the face. */
const margin = 2.2;

/** A square around the largest face of each photo, as raw input for sharp. */
async function faces(server, dispatcher) {
  return Promise.all(
    photos.map(async (photo) => {
      const { body, content_type } = form({ image1: photo, image2: photo });
      const answer = await fetch(`${server.address}/API/v1.0/face/match/upload`, {
        method: 'POST',
        headers: { 'x-api-key': server.key, 'content-type': content_type },
        body,
        ...(dispatcher && { dispatcher }),
      });
      const { image1 } = await answer.json();
      const { box } = image1.faces[0];
      const side = Math.floor(Math.min(box.height * margin, image1.width, image1.height));
      const inside = (middle, length) => Math.round(Math.min(Math.max(middle - side / 2, 0), length - side));
      return sharp(photo).extract({
        left: inside(box.x + box.width / 2, image1.width),
        top: inside(box.y + box.height / 2, image1.height),
        width: side,
        height: side,
      });
    }),
  );
}

/** Each { width, height, format } of `wishes` for each face: { name, bytes }. `dispatcher` is undici's; its own when absent. */
export async function portraits(server, wishes, dispatcher) {
  const made = [];
  for (const [index, face] of (await faces(server, dispatcher)).entries()) {
    for (const { width, height, format } of wishes) {
      // `cover` would cut the face's edges off where the frame is wide.
      const picture = face.clone().resize(width, height, { fit: 'contain', background: '#789' });
      const bytes = await picture
        .toFormat(format, { quality: 85, ...(format === 'webp' && { effort: 1 }) })
        .toBuffer();
      made.push({ name: `${index}-${width}x${height}.${format}`, width, height, format, bytes });
    }
  }
  return made;
}
