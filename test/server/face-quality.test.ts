import sharp, { type Sharp } from 'sharp';
import { describe, expect, test } from 'vitest';
import { cutOuts } from '../support/portraits.mjs';
import { type Fields, type Json, match, paths } from './support/client.ts';
import { blank } from './support/pictures.ts';
import { expectProblem } from './support/problem.ts';
import { TestServer } from './support/server.ts';

/** Poor faces: one portrait made worse in one way, compared with itself as it was. */

const server = await TestServer.forFile();
const [stranger, portrait] = (await Promise.all(
  (cutOuts() as Sharp[]).slice(0, 2).map((picture) => picture.png().toBuffer()),
)) as [Buffer, Buffer];

const changed = (how: (picture: Sharp) => Sharp) => how(sharp(portrait)).png().toBuffer();

const tooSmall = () => changed((picture) => picture.resize({ width: 50 }));

const compare = (image1: Buffer, image2: Buffer, fields: Fields = {}) =>
  match(server, { image1, image2, ...fields }, { path: paths.advanced });

const reasonsOf = ({ warnings }: Json, field: string) =>
  warnings.filter((warning: Json) => warning.field === field).map((warning: Json) => warning.reason);

describe('a compared face', () => {
  test('that is good is not warned of', async () => {
    expect((await compare(portrait, portrait)).body.warnings).toEqual([]);
  });

  test.each<[reason: string, how: (picture: Sharp) => Sharp]>([
    ['small', (picture) => picture.resize({ width: 50 })],
    ['blurred', (picture) => picture.blur(6)],
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

  test('is the one that was chosen: a poor bystander is not warned of', async () => {
    const small = await sharp(portrait).resize({ width: 62 }).toBuffer();
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

describe('reject_low_quality', () => {
  const reject = { reject_low_quality: 'true' };

  test.each(['image1', 'image2'])(
    'refuses a poor face in %s, and names that picture alone',
    async (field) => {
      const small = await tooSmall();
      const pictures: [Buffer, Buffer] = field === 'image1' ? [small, portrait] : [portrait, small];
      const { body } = await compare(...pictures);
      expectProblem(await compare(...pictures, reject), 'low_quality_face', {
        errors: [{ field, reasons: reasonsOf(body, field) }],
        detail: body.warnings.map(({ detail }: Json) => detail).join(' '),
      });
    },
  );

  test('tells nothing of the match that it refuses', async () => {
    const small = await tooSmall();
    const same = await compare(small, portrait, reject);
    const other = await compare(small, stranger, reject);
    const { request_id: _, ...told } = same.body;
    const { request_id: __, ...toldOfStranger } = other.body;
    expect(Object.keys(told)).toEqual(['type', 'title', 'status', 'detail', 'code', 'errors']);
    expect(told).toEqual(toldOfStranger);
    expect(same.headers.get('server-timing')).toBeNull();
  });

  test('comes after what is wrong with the pictures', async () => {
    const answer = await compare(await tooSmall(), await blank(320, 320, 'png'), reject);
    expectProblem(answer, 'no_face_found', { errors: [{ field: 'image2', code: 'no_face_found' }] });
  });

  test('is unknown to the basic endpoint, which answers with warnings', async () => {
    const { status, body } = await match(server, { image1: portrait, image2: await tooSmall(), ...reject });
    expect(status).toBe(200);
    expect(body.warnings).toMatchObject([
      { code: 'unknown_field', field: 'reject_low_quality' },
      ...reasonsOf(body, 'image2').map((reason: string) => ({ code: 'low_quality_face', reason })),
    ]);
    expect(reasonsOf(body, 'image2')).toContain('small');
  });
});

describe('the quality components of a face', () => {
  const faceOf = async (image: Buffer): Promise<Json> => {
    const { body } = await match(server, { image }, { path: '/API/v1.0/face/detect/upload' });
    return body.image.faces[0];
  };

  test('are told by detect, and lower where fewer pixels lie between the eyes', async () => {
    const { quality_components, pose } = await faceOf(portrait);
    const small = (await faceOf(await tooSmall())).quality_components;
    expect(Object.keys(quality_components)).toEqual([
      'inter_eye_distance',
      'head_pose_yaw',
      'head_pose_roll',
    ]);
    expect(small.inter_eye_distance).toBeLessThan(quality_components.inter_eye_distance);
    expect(quality_components.head_pose_yaw).toBe(
      Math.round(100 * Math.cos((pose.yaw * Math.PI) / 180) ** 2),
    );
  });

  test('are not told by a match', async () => {
    const { body } = await compare(portrait, portrait);
    expect(JSON.stringify(body)).not.toContain('quality_components');
  });
});
