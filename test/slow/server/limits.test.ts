import { expect, test } from 'vitest';
import { settings, variableOf } from '../../../src/config/config.ts';
import {
  chunk,
  chunkedHead,
  type Fields,
  formBytes,
  formType,
  lastChunk,
  match,
  RawClient,
  twoPhotos,
} from '../../server/support/client.ts';
import { TestServer } from '../../server/support/server.ts';

/** Every number that can be set, at its smallest and its largest value: the server starts, answers and stops. */

/** A match of two photos with a text field. */
const fields: Fields = { ...twoPhotos(), threshold_percent: '70' };

type Outcome = readonly (200 | string)[];
const served: Outcome = [200];

/** What it is answered at the smallest and at the largest value. */
const outcomes: Record<string, readonly [smallest: Outcome, largest: Outcome]> = {
  port: [served, served],
  admin_port: [served, served],
  workers: [served, served],
  keep_alive_s: [served, served],
  queue: [served, served],
  embedding_cache: [served, served],
  deadline_ms: [['deadline_exceeded'], served],
  // Whether so short a time is up before a body that comes at once is seen depends on the machine.
  upload_timeout_ms: [[200, 'upload_timeout'], served],
  idle_timeout_s: [served, served],
  shutdown_ms: [served, served],
  max_body_bytes: [['body_too_large'], served],
  max_image_bytes: [['image_too_large'], served],
  max_upload_bytes: [['body_too_large'], served],
  max_parts: [['invalid_multipart'], served],
  max_part_header_bytes: [['invalid_multipart'], served],
  max_field_bytes: [['invalid_field'], served],
  max_pixels: [['image_dimensions'], served],
  picture_ms: [['image_too_complex', 'no_face_found'], served],
  min_side: [served, ['image_dimensions']],
  trusted_hops: [served, served],
  auth_failures_per_minute: [served, served],
  auth_failure_burst: [served, served],
};

/** The numbers of the table of settings, with the ends of their ranges. */
const ranges = Object.entries(settings).flatMap(([name, { expected }]) => {
  const [, smallest, largest] = /^a whole number from (\d+) to (\d+)$/.exec(expected) ?? [];
  return smallest === undefined ? [] : [{ name, smallest, largest: largest! }];
});

/** What one of them can only be set with. */
const together: Record<string, Record<string, string>> = {
  max_upload_bytes: { FACEMATCH_MAX_BODY_BYTES: '1024' },
  keep_alive_s: { FACEMATCH_HTTP: 'node' },
};

async function answerWith(env: Record<string, string>): Promise<200 | string> {
  const { status, body } = await match(await TestServer.forTest({ env }), fields);
  return status === 200 ? status : body.code;
}

/** Those that change what the others are tested by, and 256 threads. */
const apart = ['min_side', 'keep_alive_s', 'workers'];

const ends = ranges.flatMap(({ name, smallest, largest }) => [
  { name, value: smallest, outcome: outcomes[name]![0], alone: outcomes[name]![0] !== served },
  { name, value: largest, outcome: outcomes[name]![1], alone: apart.includes(name) },
]);

test.each(ends.filter(({ name, alone }) => alone || name === 'keep_alive_s'))(
  '$name at $value',
  { timeout: 300_000 },
  async ({ name, value, outcome }) => {
    expect(outcome).toContain(await answerWith({ ...together[name], [variableOf(name)]: value }));
  },
);

test('all others at their smallest', async () => {
  const others = ranges.filter(({ name }) => outcomes[name]![0] === served && name !== 'keep_alive_s');
  expect(others.length).toBeGreaterThan(8);
  const env = Object.fromEntries(others.map(({ name, smallest }) => [variableOf(name), smallest]));
  expect(await answerWith(env)).toBe(200);
});

test('all others at their largest, and a body of unknown length that is larger than any memory that is kept', async () => {
  // Both listeners cannot have one port.
  const others = ranges.filter(({ name }) => ![...apart, 'admin_port'].includes(name));
  const env = Object.fromEntries(others.map(({ name, largest }) => [variableOf(name), largest]));
  const server = await TestServer.forTest({ env });
  expect(server.port).toBe(65_535);
  expect((await match(server, fields)).status).toBe(200);
  const client = new RawClient(server.port);
  client.write(chunkedHead(server, { 'content-type': formType }));
  const body = formBytes({ image1: Buffer.alloc(100 * 1024 * 1024), image2: 'x' });
  for (let at = 0; at < body.length; at += 65_536) client.write(chunk(body.subarray(at, at + 65_536)));
  client.write(lastChunk);
  expect((await client.answer()).body).toMatchObject({ code: 'unsupported_image_format', field: 'image1' });
  client.socket.destroy();
});
