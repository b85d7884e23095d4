import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { samples } from '../fixtures/images.ts';
import { uncalibratedPack } from '../fixtures/packs.ts';
import { newFolder } from '../support/folder.ts';
import { diagnose, facematch } from './support/cli.ts';
import { embeddingsQuestion, getModels, match, paths, postJson, twoPhotos } from './support/client.ts';
import { TestServer } from './support/server.ts';

/** A pack that nobody has calibrated serves, and pretends nothing. */

const folder = newFolder();
const pack = uncalibratedPack(folder);
const detail = expect.stringContaining('The pack uncalibrated is not calibrated');
const warning = { code: 'uncalibrated', field: 'model', detail };
const demo = projectPath('node_modules/@vladmandic/face-api/demo');
const photos = `${demo}/sample1.jpg ${demo}/sample3.jpg`;
const unknown = { match: false, false_match_rate: 1, extrapolated: true };

const FACEMATCH_ENDPOINTS = 'match,match_advanced,match_many,embed,match_embeddings,models';
const server = await TestServer.forFile({ env: { FACEMATCH_PACK: pack, FACEMATCH_ENDPOINTS } });

describe('an uncalibrated pack', () => {
  test('answers with 40 × the similarity, no rate, and a warning', async () => {
    const fields = { ...twoPhotos(), image1_face_index: '0', image2_face_index: '2' };
    const { status, body } = await match(server, fields, { path: paths.advanced });
    expect(status).toBe(200);
    expect(body).toMatchObject({ ...unknown, warnings: expect.arrayContaining([warning]) });
    expect(body.confidence_percent).toBeCloseTo(40 * Math.max(0, body.similarity), 1);
  });

  test('says of a pair of faces the same number however many are compared with it, and whoever asks', async () => {
    const { body } = await match(server, twoPhotos());
    expect(body.pairs).toHaveLength(9);
    for (const pair of body.pairs)
      expect(pair.confidence_percent).toBeCloseTo(40 * Math.max(0, pair.similarity), 1);
    const { image1_face_index, image2_face_index, confidence_percent } = body.pairs[0];
    const same = { confidence_percent: body.confidence_percent };
    expect({ confidence_percent }).toEqual(same);
    const chosen = { image1_face_index: `${image1_face_index}`, image2_face_index: `${image2_face_index}` };
    const alone = await match(server, { ...twoPhotos(), ...chosen }, { path: paths.advanced });
    expect(alone.body).toMatchObject({ ...same, pairs_compared: 1 });
    const many = await match(server, { image1: samples.one, image2: [samples.three] }, { path: paths.many });
    expect(many.body).toMatchObject({ matches: 0, warnings: expect.arrayContaining([warning]) });
    expect(many.body.results[0]).toMatchObject({ ...unknown, ...same });
    const { body: embedded } = await match(server, { image: samples.three }, { path: paths.embed });
    const { embedding } = embedded.image.faces[image2_face_index];
    const question = await embeddingsQuestion(server, samples.one);
    const candidates = [{ id: 'her', embedding }];
    const ranked = await postJson(server, paths.embeddings, { ...question, candidates, searched: 1e6 });
    expect(ranked.body).toMatchObject({ results: [{ ...unknown, ...same }], warnings: [warning] });
    const { stdout } = await facematch(`match --json ${photos}`, folder, { FACEMATCH_PACK: pack });
    expect(JSON.parse(stdout)).toMatchObject({ ...same, pairs: body.pairs });
  });

  test('does not call even the same image a match, unless the threshold is in its range', async () => {
    const ask = async (threshold_percent: string) => {
      const first = { image1_face_index: '0', image2_face_index: '0' };
      const fields = { image1: samples.one, image2: samples.one, ...first, threshold_percent };
      return (await match(server, fields, { path: paths.advanced })).body;
    };
    expect(await ask('70')).toMatchObject({ ...unknown, confidence_percent: 40, similarity: 1 });
    expect(await ask('39')).toMatchObject({ ...unknown, match: true });
  });

  test('has no table in GET models', async () => {
    const { body } = await getModels(server);
    expect(body.pack).toBe('uncalibrated');
    expect(body).not.toHaveProperty('calibration');
  });

  test('is warned of in the log, by the doctor and by the command line', async () => {
    expect(server.stderr.join('\n')).toContain('the pack is not calibrated');
    const env = { FACEMATCH_PACK: pack };
    const { of } = await diagnose(folder, env);
    const value = 'none: no answer passes 40 percent';
    expect(of('calibration')).toMatchObject({ status: 'warning', value });
    const { code, stdout } = await facematch(`match ${photos}`, folder, env);
    expect(code).toBe(0);
    expect(stdout).toContain('how often strangers score this high is not known');
    expect(stdout).toContain('warning     The pack uncalibrated is not calibrated');
  });
});
