import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Json, match, paths } from './support/client.ts';
import { samples } from './support/pictures.ts';
import { TestServer } from './support/server.ts';

/** Warnings about poor faces: one portrait made worse in one way, compared with itself as it was. */

let server: TestServer;
let portrait: Buffer;
beforeAll(async () => {
  server = await TestServer.start();
  const { body } = await match(server, { image1: samples.three, image2: samples.three });
  const { x, y, width, height } = body.image1.faces[0].box;
  portrait = await sharp(samples.three)
    .extract({
      left: Math.round(x - width / 2),
      top: Math.round(y - height / 2),
      width: Math.round(2 * width),
      height: Math.round(2 * height),
    })
    .png()
    .toBuffer();
});
afterAll(() => server.stop());

const changed = (how: (picture: ReturnType<typeof sharp>) => ReturnType<typeof sharp>) =>
  how(sharp(portrait)).png().toBuffer();

const compare = (image1: Buffer, image2: Buffer, fields: Record<string, string> = {}) =>
  match(server, { image1, image2, ...fields }, { path: paths.advanced });

const reasonsOf = ({ warnings }: Json, field: string) =>
  warnings.filter((warning: Json) => warning.field === field).map((warning: Json) => warning.reason);

describe('a compared face', () => {
  test('that is good is not warned of', async () => {
    expect((await compare(portrait, portrait)).body.warnings).toEqual([]);
  });

  test.each<[reason: string, how: (picture: ReturnType<typeof sharp>) => ReturnType<typeof sharp>]>([
    ['small', (picture) => picture.resize({ width: 60 })],
    ['blurred', (picture) => picture.blur(6)],
    ['dark', (picture) => picture.linear(0.17, 0)],
    ['bright', (picture) => picture.linear(1.6, 0)],
  ])('that is %s is, by the picture that it is in, and the numbers are told', async (reason, how) => {
    const poor = await changed(how);
    for (const [field, answer] of [
      ['image1', await compare(poor, portrait)],
      ['image2', await compare(portrait, poor)],
    ] as const) {
      expect(answer.status).toBe(200);
      expect(reasonsOf(answer.body, field)).toContain(reason);
      expect(answer.body.warnings.every((warning: Json) => warning.field === field)).toBe(true);
      const { detail } = answer.body.warnings.find((warning: Json) => warning.reason === reason);
      const { quality } = answer.body[field].faces[answer.body[field].face_index];
      expect(Object.values(quality).some((value) => detail.includes(` ${value}, `))).toBe(true);
    }
  });

  test('may be poor in both pictures', async () => {
    const small = await changed((picture) => picture.resize({ width: 60 }));
    const { body } = await compare(small, small);
    expect(reasonsOf(body, 'image1')).toContain('small');
    expect(reasonsOf(body, 'image2')).toEqual(reasonsOf(body, 'image1'));
    // A warning is no verdict: one and the same picture matches itself.
    expect(body.match).toBe(true);
  });

  test('is the one that was chosen: a poor bystander is not warned of', async () => {
    const small = await sharp(portrait).resize({ width: 52 }).toBuffer();
    const both = await sharp(portrait)
      .resize({ width: 200 })
      .extend({ right: 70, background: '#789' })
      .composite([{ input: small, gravity: 'east' }])
      .png()
      .toBuffer();
    const large = (await compare(both, portrait, { image1_face_index: '0' })).body;
    expect(large.image1.faces).toHaveLength(2);
    expect(large.warnings).toEqual([]);
    const chosen = (await compare(both, portrait, { image1_face_index: '1' })).body;
    expect(reasonsOf(chosen, 'image1')).toContain('small');
  });
});

test('the basic endpoint warns as well, after the fields that it does not know', async () => {
  const small = await changed((picture) => picture.resize({ width: 60 }));
  const { body } = await match(server, { image1: portrait, image2: small, colour: 'blue' });
  expect(body.warnings.slice(0, 2)).toMatchObject([
    { code: 'unknown_field', field: 'colour' },
    { code: 'low_quality_face', field: 'image2', reason: 'small' },
  ]);
});
