import { existsSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { blank, samples } from '../fixtures/images.ts';
import { newFolder } from '../support/folder.ts';
import { embeddingsQuestion, type Json, match, paths, postJson, twoPhotos } from './support/client.ts';
import { Home, TestServer } from './support/server.ts';

/** FACEMATCH_AUDIT_LOG. */

const home = new Home();
const limited = home.key({ rate: 0.01, burst: 1 });
const file = join(newFolder(), 'audit.jsonl');
const faceless = await blank(400, 300, 'png');
const env = {
  FACEMATCH_AUDIT_LOG: file,
  FACEMATCH_ENDPOINTS: 'match,match_advanced,match_many,match_person,match_embeddings,detect,embed,models',
};
const server = await TestServer.forFile({ env }, home);

const lines = (path = file): Json[] =>
  (readFileSync(path, 'utf8').match(/.+/g) ?? []).map((line) => JSON.parse(line));

/** What a request adds. Its lines are written a moment after its answer. */
async function told(request_id: string): Promise<Json[]> {
  const found = () => lines().filter((line) => line.request_id === request_id);
  await expect.poll(found).not.toEqual([]);
  return found();
}

test('a match is one line, and its file is its owner’s alone', async () => {
  const { body } = await match(server, { ...twoPhotos(), threshold_percent: '80' });
  expect(await told(body.request_id)).toEqual([
    {
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      request_id: body.request_id,
      key_id: server.key.split('_')[1],
      route: 'match',
      pack: `${body.model.pack} ${body.model.version}`,
      accuracy_mode: 'balance',
      threshold_percent: 80,
      confidence_percent: body.confidence_percent,
      match: true,
    },
  ]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('each of several targets has its line, those that were refused as well', async () => {
  const fields = { image1: samples.one, image2: [samples.three, faceless], accuracy_mode: 'fast' };
  const { body } = await match(server, fields, { path: paths.many });
  const found = await told(body.request_id);
  expect(found).toMatchObject([
    { route: 'match_many', accuracy_mode: 'fast', target: 0, match: true },
    { route: 'match_many', target: 1, refused: 'no_face_found' },
  ]);
  expect(JSON.stringify(found)).not.toContain('image2.bin');
});

test('several photos of two people are one decision, and each is counted', async () => {
  const counted = ['comparisons_total', 'images_total', 'key_images_total', 'key_comparisons_total'];
  const counts = async () => {
    const text = await server.metrics();
    return counted.map((name) =>
      [...text.matchAll(new RegExp(`^facematch_${name}{.*} (\\d+)$`, 'gm'))].reduce(
        (sum, [, value]) => sum + Number(value),
        0,
      ),
    );
  };
  const before = await counts();
  const sides = { image1: Array(2).fill(samples.one), image2: Array(3).fill(samples.one) };
  const { body } = await match(server, sides, { path: paths.person });
  const [{ time, request_id, key_id, pack, ...line }] = await told(body.request_id);
  const { accuracy_mode, threshold_percent, confidence_percent } = body;
  expect(line).toEqual({
    ...{ route: 'match_person', accuracy_mode, threshold_percent, confidence_percent, match: true },
  });
  const after = await counts();
  expect(after.map((count, at) => count - before[at]!)).toEqual([1, 5, 5, 1]);
  const poor = { image1: samples.one, image2: [samples.one, faceless] };
  const refused = await match(server, poor, { path: paths.person });
  expect(await told(refused.body.request_id)).toMatchObject([{ refused: 'no_face_found' }]);
});

test('embeddings have one line for all', async () => {
  const question = await embeddingsQuestion(server, samples.one);
  const { body } = await postJson(server, paths.embeddings, question);
  expect(await told(body.request_id)).toMatchObject([
    { route: 'match_embeddings', candidates: 3, matches: 1, confidence_percent: 100, match: true },
  ]);
  const text = readFileSync(file, 'utf8');
  expect(text).not.toContain('face 0');
  expect(text).not.toContain(question.embedding.slice(0, 12));
  const embedded = lines().filter(({ route }) => route === 'embed');
  expect(embedded).toMatchObject([{ accuracy_mode: 'balance', faces: 3 }]);
});

test('a refusal of an image or of the request says why; one of a key or its rate is no decision', async () => {
  const picture = await match(server, { image1: samples.one, image2: faceless });
  const request = await match(server, { image1: samples.one });
  await match(server, twoPhotos(), { key: limited });
  const rate = await match(server, twoPhotos(), { key: limited });
  const key = await match(server, twoPhotos(), { key: 'wrong' });
  expect([rate.status, key.status]).toEqual([429, 401]);
  expect(await told(picture.body.request_id)).toMatchObject([{ route: 'match', refused: 'no_face_found' }]);
  expect(await told(request.body.request_id)).toMatchObject([{ route: 'match', refused: 'missing_field' }]);
  const ids = [rate.body.request_id, key.body.request_id];
  expect(lines().filter(({ request_id }) => ids.includes(request_id))).toEqual([]);
});

test('SIGHUP goes on in a new file, and what is in memory is written at the end', async () => {
  const before = await match(server, twoPhotos());
  await told(before.body.request_id);
  const moved = `${file}.1`;
  renameSync(file, moved);
  server.child.kill('SIGHUP');
  await expect.poll(() => existsSync(file)).toBe(true);
  const after = await match(server, twoPhotos());
  await server.stop();
  expect(lines(moved).at(-1).request_id).toBe(before.body.request_id);
  expect(lines().map(({ request_id }) => request_id)).toEqual([after.body.request_id]);
});
