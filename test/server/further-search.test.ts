import sharp, { type Sharp } from 'sharp';
import { describe, expect, test } from 'vitest';
import { cutOuts } from '../support/portraits.mjs';
import { type Fields, type Json, paths } from './support/client.ts';
import { TestServer } from './support/server.ts';

/** Tests the further search before a negative result (src/engine/further.ts), as a client sees it. */

const FACEMATCH_ENDPOINTS = 'match,match_advanced,match_many,detect';
const env = { FACEMATCH_ENDPOINTS };
const server = await TestServer.forFile({ env });
const caching = await TestServer.forFile({ env: { ...env, FACEMATCH_EMBEDDING_CACHE_SIZE: '8' } });

/** The first two portraits show one person. */
const [holder, , other] = (cutOuts() as Sharp[]).slice(0, 3) as [Sharp, Sharp, Sharp];
const person = await (cutOuts() as Sharp[])[1]!.jpeg({ quality: 95 }).toBuffer();
const stranger = await other.clone().jpeg({ quality: 95 }).toBuffer();

/** Returns a photo of a stranger with a rotated card that shows the person's face. */
async function photoWithCard(degrees: number, side = 240): Promise<Buffer> {
  const face = await other.clone().resize(600).toBuffer();
  const card = await holder.clone().resize(side).rotate(degrees).toBuffer();
  return sharp({ create: { width: 1200, height: 1000, channels: 3, background: '#969690' } })
    .composite([
      { input: face, left: 40, top: 60 },
      { input: card, left: 900, top: 700 },
    ])
    .jpeg({ quality: 95 })
    .toBuffer();
}

const withCard = await photoWithCard(90);
const advanced = (fields: Fields, of = server) => of.match(fields, { path: paths.advanced });
const comparedFace = ({ faces, face_index }: Json) => faces[face_index];

describe('the further search before "no match"', () => {
  test.each([90, 180])(
    'finds a face that is rotated by %i degrees next to an upright one',
    async (degrees) => {
      const { body } = await server.match({ image1: person, image2: await photoWithCard(degrees) });
      expect([body.match, body.pairs_compared]).toEqual([true, 2]);
      expect(comparedFace(body.image2).found_by).toBe('rotated');
      expect(body.image2).not.toHaveProperty('searched_rotations');
    },
  );

  test('corrects the rotation of a face that the first search considered upright', async () => {
    const image2 = await photoWithCard(180, 220);
    const { body: first } = await server.match({ image1: stranger, image2 });
    expect(first.image2.faces.map(({ found_by }: Json) => found_by)).toEqual(['primary', 'primary']);
    const { body } = await server.match({ image1: person, image2 });
    expect([body.match, body.pairs_compared]).toEqual([true, 2]);
    expect(comparedFace(body.image2).found_by).toBe('rotated');
  });

  test('finds a rotated face in image1 as in image2', async () => {
    const { body } = await server.match({ image1: withCard, image2: person });
    expect([body.match, comparedFace(body.image1).found_by]).toEqual([true, 'rotated']);
  });

  test('applies to the image2 images of match/many, but not to image1', async () => {
    const fields = { image1: person, image2: [stranger, withCard] };
    const { body } = await server.match(fields, { path: paths.many });
    expect(body.results.map(({ match }: Json) => match)).toEqual([false, true]);
    expect(body.image1.searched_rotations).toEqual([0]);
  });

  test('returns the same response from the cache', async () => {
    const bodies: Json[] = [];
    for (let i = 0; i < 2; i++) {
      const { body } = await advanced({ image1: person, image2: withCard }, caching);
      const { request_id: _id, timings_ms: _times, ...rest } = body;
      bodies.push(rest);
    }
    expect(bodies[1]).toEqual(bodies[0]);
    expect(await caching.metric('facematch_embedding_cache_hits_total')).toBe(2);
    const { body } = await caching.match({ image1: stranger, image2: withCard });
    expect([body.match, body.image2.faces.length, body.image2.searched_rotations]).toEqual([true, 1, [0]]);
  });
});

describe('the further search', () => {
  test.each([
    ['for a match', { image1: stranger }, true],
    ['for a selected face', { image1: person, image2_face_index: '0' }, false],
    ['for the largest faces', { image1: person, auto_pair_best: 'false' }, false],
    ['without the fallback', { image1: person, use_heuristic_fallback: 'false' }, false],
  ])('is skipped %s, and searched_rotations reports it', async (_when, fields, match) => {
    const { body } = await advanced({ image2: withCard, ...fields });
    expect([body.match, body.image2.faces.length]).toEqual([match, 1]);
    expect(body.image2.searched_rotations).toEqual([0]);
  });
});
