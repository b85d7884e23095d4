import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { runPlan } from '../../../bench/compare/run.mjs';
import { contenders } from '../../../bench/contenders/index.mjs';

/** Starts a server that finds no match in any pair. */
async function startWrong() {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.end(JSON.stringify({ match: false })));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const stop = async () => {
    server.close();
    server.closeAllConnections();
  };
  return { origin: `http://127.0.0.1:${port}`, key: 'any', pid: process.pid, stop };
}

test('does not measure a contender with wrong responses, and reports it as a failure', async () => {
  Object.assign(contenders, { wrong: { title: 'wrong', scenarios: ['small'], start: startWrong } });
  const runs = [{ contender: 'wrong', workers: 1, cells: [{ loop: 'closed', clients: 1, turns: 1 }] }];
  const plan = [{ id: 'small fast', scenario: 'small', mode: 'fast', runs }];
  const options = { rounds: 2, pairs_checked: 4, settle_s: 0, warm_s: 0, seconds: 0, min_responses: 1 };
  const { windows, checks, failures } = await runPlan(plan, options, () => {});
  expect(windows).toEqual([]);
  expect(checks).toEqual([{ block: 'small fast', contender: 'wrong', asked: 4, right: 2, sensible: false }]);
  const message =
    'only 2 of 4 responses before the load were correct; expected at least 75 %, with a match and a non-match';
  expect(failures).toEqual([{ round: 0, block: 'small fast', contender: 'wrong', message }]);
});
