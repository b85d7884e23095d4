import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { match, twoPhotos } from './support/client.ts';
import { Home, killable, readiness, TestServer } from './support/server.ts';

/** Workers that die in every phase of their life: all of them are back in the end, and nobody is told otherwise before. */

const home = new Home();
const dieFile = join(home.folder, 'die');
const server = await TestServer.forFile(
  {
    env: {
      FACEMATCH_WORKERS: '2',
      FACEMATCH_ADDON: fileURLToPath(new URL('./support/dying-addon.cjs', import.meta.url)),
      DIE_ADDON: process.env.FACEMATCH_ADDON ?? projectPath('build/addon/Release/facematch.node'),
      DIE_FILE: dieFile,
    },
    node: killable,
  },
  home,
);

const workers = (count: number) => server.metricBecomes('facematch_workers', count);
const replaced = () => server.metric('facematch_worker_replacements_total');
/** Resolves when its death is known. */
const killOne = async () => {
  const before = await replaced();
  server.child.kill('SIGUSR2');
  while ((await replaced()) <= before);
};
const readyz = async () => {
  const answer = await fetch(`${server.adminAddress}/readyz`);
  return [answer.status, await answer.json()];
};
const served = async () =>
  (await Promise.all([match(server, twoPhotos()), match(server, twoPhotos())])).map(({ status }) => status);

test('one that dies while it is idle is replaced, time after time', async () => {
  for (let round = 0; round < 3; round++) {
    await killOne();
    await workers(2);
  }
  expect(await served()).toEqual([200, 200]);
});

test('those that die while they start are missed, and are back when they can be', {
  timeout: 120_000,
}, async () => {
  writeFileSync(dieFile, '');
  await killOne();
  await workers(1);
  expect(await readyz()).toEqual([200, readiness('ready')]);
  expect(await served()).toEqual([200, 200]);
  await killOne();
  await workers(0);
  expect(await readyz()).toEqual([503, readiness('recovering')]);
  // Waits for a worker, as it would in a queue.
  const waiting = match(server, twoPhotos());
  rmSync(dieFile);
  await workers(2);
  expect(await readyz()).toEqual([200, readiness('ready')]);
  // Given to a worker that never came up, or served by one that did.
  expect([200, 500, 504]).toContain((await waiting).status);
  expect(await served()).toEqual([200, 200]);
});

test('and are replaced afterwards as before', async () => {
  await killOne();
  await workers(2);
  expect(await served()).toEqual([200, 200]);
});
