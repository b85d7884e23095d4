import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { uncalibratedPack } from '../fixtures/packs.ts';
import { samples } from '../fixtures/pictures.ts';
import { newFolder } from '../support/folder.ts';
import { program, run } from './support/cli.ts';
import { type Answer, match, paths, send, twoPhotos } from './support/client.ts';
import { diagnose } from './support/doctor.ts';
import { TestServer } from './support/server.ts';

/** A pack that nobody has calibrated serves, and pretends nothing. */

const folder = newFolder();
const pack = uncalibratedPack(folder);
const warning = {
  code: 'pack_not_calibrated',
  field: 'model',
  detail: expect.stringContaining('The pack uncalibrated is not calibrated'),
};
const unknown = { match: false, false_match_rate: 1, extrapolated: true };

let server: TestServer;
beforeAll(async () => {
  const env = {
    FACEMATCH_PACK: pack,
    FACEMATCH_ENDPOINTS: 'match,match_advanced,match_many,embed,match_embeddings,models',
  };
  server = await TestServer.start({ env });
});
afterAll(() => server.stop());

describe('an uncalibrated pack', () => {
  test('answers with 40 × the similarity, no rate, and a warning', async () => {
    const fields = { ...twoPhotos(), image1_face_index: '0', image2_face_index: '2' };
    const { status, body } = await match(server, fields, { path: paths.advanced });
    expect(status).toBe(200);
    expect(body).toMatchObject({ ...unknown, warnings: expect.arrayContaining([warning]) });
    expect(body.confidence_percent).toBeCloseTo(40 * Math.max(0, body.similarity), 1);
  });

  test('does not call even the same picture a match, unless the threshold is in its range', async () => {
    const fields = {
      image1: samples.one,
      image2: samples.one,
      image1_face_index: '0',
      image2_face_index: '0',
    };
    const ask = (threshold_percent: string): Promise<Answer> =>
      match(server, { ...fields, threshold_percent }, { path: paths.advanced });
    expect((await ask('70')).body).toMatchObject({ ...unknown, confidence_percent: 40, similarity: 1 });
    expect((await ask('39')).body).toMatchObject({ ...unknown, match: true });
  });

  test('says so in answers about several pictures and about embeddings', async () => {
    const many = await match(server, { image1: samples.one, image2: [samples.three] }, { path: paths.many });
    expect(many.body).toMatchObject({ matches: 0, warnings: expect.arrayContaining([warning]) });
    expect(many.body.results[0]).toMatchObject(unknown);

    const { body } = await match(server, { image: samples.one }, { path: paths.embed });
    const [{ embedding }] = body.image.faces;
    const { pack, version, accuracy_mode } = body.embedding;
    const candidates = [{ id: 'herself', embedding }];
    const question = { embedding, candidates, pack, version, accuracy_mode };
    const headers = { 'content-type': 'application/json' };
    const found = await send(server, { path: paths.embeddings, body: JSON.stringify(question), headers });
    expect(found.body.results).toEqual([
      { id: 'herself', ...unknown, confidence_percent: 40, similarity: 1 },
    ]);
    expect(found.body.warnings).toEqual([warning]);
  });

  test('has no table in GET models', async () => {
    const { status, body } = await send(server, { path: paths.models, method: 'GET' });
    expect({ status, pack: body.pack }).toEqual({ status: 200, pack: 'uncalibrated' });
    expect(body).not.toHaveProperty('calibration');
  });

  test('is warned of in the log, by the doctor and by the command line', async () => {
    expect(server.stderr.join('\n')).toContain('the pack is not calibrated');
    const env = { FACEMATCH_PACK: pack };
    const photos = [1, 3].map((n) => projectPath(`node_modules/@vladmandic/face-api/demo/sample${n}.jpg`));
    const { of } = await diagnose(folder, env);
    expect(of('calibration')).toMatchObject({
      status: 'warning',
      value: 'none: no answer passes 40 percent',
    });
    const { code, stdout } = await run(program, ['match', ...photos], folder, env);
    expect(code).toBe(0);
    expect(stdout).toContain('how often strangers score this high is not known');
    expect(stdout).toContain('warning     The pack uncalibrated is not calibrated');
  });
});
