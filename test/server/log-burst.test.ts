import { expect, test } from 'vitest';
import { head, paths, RawClient } from './support/client.ts';
import { TestServer } from './support/server.ts';

/** The log is written some time after the answers: no line may be lost or come twice. */

const ids = (from: number, count: number) => Array.from({ length: count }, (_, i) => `burst-${from + i}`);

test('a burst is counted and logged request by request, in order, up to the end of the server', async () => {
  const server = await TestServer.start({ until: 'listening' });
  const client = new RawClient(server.port);
  const refused = async (burst: readonly string[], all: number) => {
    const heads = burst.map((id) =>
      head(server, { 'x-api-key': 'wrong', 'x-request-id': id }, `GET ${paths.models} HTTP/1.1`),
    );
    client.write(heads.join(''));
    await client.answers(all);
  };
  const count = async () => {
    const lines = (await server.metrics()).split('\n').filter((line) => line.includes('route="models"'));
    const totals = lines.filter((line) => line.startsWith('facematch_requests_total'));
    return totals.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };
  await refused(ids(0, 300), 300);
  expect(await count()).toBe(300);
  await refused(ids(300, 150), 450);
  await server.stop();
  const logged = server.stderr
    .map((line) => JSON.parse(line) as { request_id?: string; msg: string })
    .filter(({ msg }) => msg === 'request')
    .map(({ request_id }) => request_id);
  expect(logged).toEqual(ids(0, 450));
});
