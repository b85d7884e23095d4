import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { samples } from '../../fixtures/images.ts';
import { expectProblem, type Json, match, paths } from '../../server/support/client.ts';
import { TestServer } from '../../server/support/server.ts';

/** use_heuristic_fallback as a client sees it. What the fallback finds is measured in test/slow/model/hard-images.test.ts. */

const server = await TestServer.forFile();
const upsideDown = await sharp(samples.three).rotate(180).jpeg({ quality: 95 }).toBuffer();

const advanced = (fields: Record<string, string>, image1: Buffer = upsideDown) =>
  match(server, { image1, image2: samples.one, ...fields }, { path: paths.advanced });

describe('a photo that stands on its head', () => {
  test('has no face without the fallback', async () => {
    for (const accuracy_mode of ['fast', 'balance']) {
      const answer = await advanced({ accuracy_mode, use_heuristic_fallback: 'false' });
      expectProblem(answer, 'no_face_found', { errors: [{ field: 'image1', code: 'no_face_found' }] });
    }
  });

  test('matches with it, and the answer tells which look found the faces, and how they lean', async () => {
    for (const accuracy_mode of ['fast', 'balance']) {
      const { status, body } = await advanced({ accuracy_mode, use_heuristic_fallback: 'true' });
      expect(status).toBe(200);
      expect(body).toMatchObject({ match: true, accuracy_mode });
      expect(body.image1.faces).toHaveLength(3);
      for (const face of body.image1.faces) {
        expect(face.found_by).toBe('rotated');
        expect(Math.abs(face.pose.roll)).toBeGreaterThan(150);
      }
      expect(body.image2.faces.map((face: Json) => face.found_by)).toEqual(['primary', 'primary', 'primary']);
    }
  });

  test('is answered in pixels of the image as it was sent', async () => {
    const { body: upright } = await advanced({}, samples.three);
    const { body: turned } = await advanced({});
    const { width, height } = turned.image1;
    expect([width, height]).toEqual([upright.image1.width, upright.image1.height]);
    const [a, b] = [upright, turned].map(({ image1 }) => image1.faces[image1.face_index]);
    for (const [name, [x, y]] of Object.entries<[number, number]>(a.landmarks)) {
      const [u, v] = b.landmarks[name];
      expect(Math.hypot(width - x - u, height - y - v)).toBeLessThan(0.1 * a.box.width);
    }
    expect(Math.abs(width - (a.box.x + a.box.width / 2) - (b.box.x + b.box.width / 2))).toBeLessThan(
      0.3 * a.box.width,
    );
  });
});

test('one good face at first sight, and the fallback looks no further', async () => {
  const [on, off] = await Promise.all(
    ['true', 'false'].map(
      async (use_heuristic_fallback) => (await advanced({ use_heuristic_fallback }, samples.three)).body,
    ),
  );
  expect(on.image1.faces).toEqual(off.image1.faces);
  expect(on.image2.faces).toEqual(off.image2.faces);
});
