import { expect, test } from 'vitest';
import { settings, variableOf } from '../../../src/config/config.ts';
import {
  chunk,
  type Fields,
  formBytes,
  formType,
  lastChunk,
  RawClient,
  twoPhotos,
} from '../../server/support/client.ts';
import { TestServer } from '../../server/support/server.ts';

/** Tests that the server starts, responds and stops with every number at its minimum and at its maximum. */

/** A match of two photos with a text field. */
const fields: Fields = { ...twoPhotos(), threshold_percent: '70' };

type Outcome = readonly (200 | string)[];
const served: Outcome = [200];

/** Expected outcomes other than a match, with a setting at its minimum or maximum. */
const atMinimum: Record<string, Outcome> = {
  deadline_ms: ['deadline_exceeded'],
  // Whether such a short timeout expires before the body is read depends on the machine.
  upload_timeout_ms: [200, 'upload_timeout'],
  max_body_bytes: ['body_too_large'],
  max_image_bytes: ['image_too_large'],
  upload_memory_bytes: ['body_too_large'],
  max_parts: ['invalid_multipart'],
  max_part_header_bytes: ['invalid_multipart'],
  max_field_bytes: ['invalid_field'],
  max_pixels: ['image_dimensions'],
  image_timeout_ms: ['image_too_complex', 'no_face_found'],
};
const atMaximum: Record<string, Outcome> = { min_image_side: ['image_dimensions'] };

/** The numeric settings, with their ranges. */
const ranges = Object.entries(settings).flatMap(([name, { expected }]) => {
  const [, min, max] = /^a whole number from (\d+) to (\d+)$/.exec(expected) ?? [];
  return min === undefined ? [] : [{ name, min, max: max! }];
});

/** Other settings that a setting requires. */
const required: Record<string, Record<string, string>> = {
  upload_memory_bytes: { FACEMATCH_MAX_BODY_BYTES: '1024' },
  keep_alive_s: { FACEMATCH_HTTP: 'node' },
};

async function statusWith(env: Record<string, string>): Promise<200 | string> {
  const { status, body } = await (await TestServer.forTest({ env })).match(fields);
  return status === 200 ? status : body.code;
}

/** Settings that are tested separately, because they affect the test of the others or start 256 threads. */
const separate = ['min_image_side', 'keep_alive_s', 'workers'];

const ends = ranges.flatMap(({ name, min, max }) => [
  {
    name,
    value: min,
    outcome: atMinimum[name] ?? served,
    alone: name in atMinimum || name === 'keep_alive_s',
  },
  { name, value: max, outcome: atMaximum[name] ?? served, alone: separate.includes(name) },
]);

test.each(ends.filter(({ alone }) => alone))(
  'has the expected outcome with $name at $value',
  { timeout: 300_000 },
  async ({ name, value, outcome }) => {
    expect(outcome).toContain(await statusWith({ ...required[name], [variableOf(name)]: value }));
  },
);

test('works with all other settings at their minimum', async () => {
  const others = ranges.filter(({ name }) => !(name in atMinimum) && name !== 'keep_alive_s');
  expect(others.length).toBeGreaterThan(8);
  const env = Object.fromEntries(others.map(({ name, min }) => [variableOf(name), min]));
  expect(await statusWith(env)).toBe(200);
});

test('works with all other settings at their maximum, and a body of unknown length larger than pooled memory', async () => {
  // The two listeners cannot use the same port.
  const others = ranges.filter(({ name }) => ![...separate, 'admin_port'].includes(name));
  const env = Object.fromEntries(others.map(({ name, max }) => [variableOf(name), max]));
  const server = await TestServer.forTest({ env });
  expect(server.port).toBe(65_535);
  expect((await server.match(fields)).status).toBe(200);
  const client = new RawClient(server.port);
  client.write(server.chunkedHeaders({ 'content-type': formType }));
  const body = formBytes({ image1: Buffer.alloc(100 * 1024 * 1024), image2: 'x' });
  for (let at = 0; at < body.length; at += 65_536) client.write(chunk(body.subarray(at, at + 65_536)));
  client.write(lastChunk);
  expect((await client.response()).body).toMatchObject({ code: 'unsupported_image_format', field: 'image1' });
  client.socket.destroy();
});
