import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { FacematchClient } from 'facematch/client';
import type { Sharp } from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { insertFace, openDatabase } from '../../../docs/examples/pgvector/database.mjs';
import { embed, enrol, identify } from '../../../docs/examples/pgvector/people.mjs';
import { projectPath } from '../../../src/config/paths.ts';
import { execute, type Outcome } from '../../server/support/cli.ts';
import { TestServer } from '../../server/support/server.ts';
import { documentedCommands } from '../../support/doc-commands.ts';
import { cutOuts } from '../../support/portraits.mjs';

/** Tests docs/identification.md, with PGlite as the PostgreSQL database with pgvector. */

let server: TestServer;
let database: Awaited<ReturnType<typeof openDatabase>>;
let client: FacematchClient;
const file = (name: string) => join(server.home.folder, name);
const matches = (result: object) => 'match' in result && result.match === true;

beforeAll(async () => {
  server = await TestServer.start({ env: { FACEMATCH_ENDPOINTS: 'embed,match_embeddings' } });
  client = new FacematchClient({ url: server.origin, key: server.key });
  const [anna, annaAgain, ...others] = cutOuts() as [Sharp, Sharp, ...Sharp[]];
  const otherPerson = others.pop()!;
  mkdirSync(file('people/anna'), { recursive: true });
  await anna.jpeg().toFile(file('people/anna/passport.jpg'));
  await anna.clone().flop().jpeg().toFile(file('people/anna/mirrored.jpg'));
  await anna.clone().linear(0.7).jpeg().toFile(file('people/anna/dim.jpg'));
  for (const [index, image] of others.entries()) await image.png().toFile(file(`people/person ${index}.png`));
  await annaAgain.jpeg().toFile(file('visitor.jpg'));
  await annaAgain.clone().flop().jpeg().toFile(file('frame.jpg'));
  await otherPerson.jpeg().toFile(file('stranger.jpg'));
  database = await openDatabase();
  return () => Promise.all([database.close(), server.stop()]);
});

describe('the people of a folder', () => {
  test('are enrolled, one of them with several photos', async () => {
    expect(await enrol(client, database, file('people'))).toEqual({ enrolled: 8, rejected: [] });
  });

  test('are compared by all their photos, and only the right person matches', async () => {
    const { searched, results } = await identify(client, database, [file('visitor.jpg')]);
    expect(searched).toBe(6);
    expect(results).toHaveLength(6);
    const several = Array(3).fill(expect.any(Number));
    expect(results[0]).toMatchObject({ id: 'anna', match: true, agreement_percents: several });
    expect(results.filter(matches)).toHaveLength(1);
  });

  test('are found by several frames, whichever photo is nearest', async () => {
    const frames = [file('visitor.jpg'), file('frame.jpg')];
    const { results } = await identify(client, database, frames, { rows: 1 });
    expect(results).toEqual([expect.objectContaining({ id: 'anna', match: true })]);
    const two = [file('visitor.jpg'), file('stranger.jpg')];
    await expect(identify(client, database, two)).rejects.toMatchObject({ code: 'photos_disagree' });
  });

  test('do not match a person who is not enrolled', async () => {
    const { results } = await identify(client, database, [file('stranger.jpg')]);
    expect(results.filter(matches)).toEqual([]);
  });

  test('are compared only with embeddings of the same pack, version and mode, also by the index', async () => {
    const visitor = [file('visitor.jpg')];
    const before = await identify(client, database, visitor);
    const { face } = await embed(client, file('visitor.jpg'));
    const others = [{ pack: 'another' }, { version: '0.0.1' }, { accuracy_mode: 'fast' }];
    // More rows than the index checks at once; it stores up to ten equal rows as one entry.
    for (let i = 0; i < 300; i++)
      await insertFace(database, { person: 'nobody', ...face, ...others[i % others.length] });
    expect(await identify(client, database, visitor)).toEqual(before);
    await database.exec('SET enable_sort = off; SET hnsw.ef_search = 10; DROP INDEX faces_made_by');
    expect(await identify(client, database, visitor)).toEqual(before);
  });
});

test('enrols no photos of two people under one name', async () => {
  mkdirSync(file('mixed/anna'), { recursive: true });
  for (const name of ['visitor.jpg', 'stranger.jpg']) copyFileSync(file(name), file(`mixed/anna/${name}`));
  expect(await enrol(client, database, file('mixed'))).toEqual({
    enrolled: 0,
    rejected: [{ file: file('mixed/anna'), reason: expect.stringMatching(/^photos_disagree: /) }],
  });
});

test('enrols no unusable image, and names it', async () => {
  mkdirSync(file('poor'));
  await (cutOuts() as Sharp[])[0]!.resize(60).jpeg().toFile(file('poor/small.jpg'));
  expect(await enrol(client, database, file('poor'))).toEqual({
    enrolled: 0,
    rejected: [{ file: file('poor/small.jpg'), reason: expect.stringMatching(/^\w+: /) }],
  });
});

test('runs the commands of docs/identification.md, with the documented results', async () => {
  const lines = documentedCommands()
    .map(({ line }) => line)
    .filter((line) => /^node docs\/examples\/pgvector\/people/.test(line));
  // If SHLVL is unset, bash reads .bashrc, as in a remote shell.
  const env = {
    PATH: process.env.PATH,
    SHLVL: '1',
    FACEMATCH_URL: server.origin,
    FACEMATCH_KEY: server.key,
  };
  const outcomes: Outcome[] = [];
  for (const line of lines) {
    const command = line.replace('docs/examples', projectPath('docs/examples'));
    outcomes.push(await execute('bash', ['-c', command], server.home.folder, env));
  }
  const found = /^people searched: 6\n *\d+\.\d % {2}match: anna.*\n( .*no match: person \d\n){5}$/;
  const stdouts = ['enrolled: 8\n', expect.stringMatching(found)];
  expect(outcomes).toEqual(stdouts.map((stdout) => ({ code: 0, stdout, stderr: '' })));
});
