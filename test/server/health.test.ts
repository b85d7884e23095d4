import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { run } from './support/cli.ts';
import { Home, readiness, TestServer, WorkerGate } from './support/server.ts';

/** What the image's HEALTHCHECK runs. */

const home = new Home();
afterAll(() => home.remove());

const check = (env: Record<string, string>) =>
  run(projectPath('dist/src/server/health.js'), [], home.folder, env);
const told = (status: string) => `${JSON.stringify(readiness(status))}\n`;
const portOf = (server: TestServer) => new URL(server.adminAddress).port;

test('of a server that is ready it ends with 0, also where that listens everywhere', async () => {
  const server = await TestServer.start({ env: { FACEMATCH_ADMIN_HOST: '0.0.0.0' } }, home);
  const settings = { FACEMATCH_ADMIN_PORT: portOf(server), FACEMATCH_ADMIN_HOST: '0.0.0.0' };
  expect(await check(settings)).toEqual({ code: 0, stdout: told('ready'), stderr: '' });
  server.child.kill('SIGTERM');
  await server.ended;
  const { code, stdout, stderr } = await check(settings);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('ECONNREFUSED');
});

test('of a server that is not ready yet it ends with 1', async () => {
  const gate = new WorkerGate(home);
  gate.close();
  const server = await TestServer.start({ env: gate.env, until: 'listening' }, home);
  expect(await check({ FACEMATCH_ADMIN_PORT: portOf(server) })).toEqual({
    code: 1,
    stdout: told('starting'),
    stderr: '',
  });
  gate.open();
  server.child.kill('SIGTERM');
  await server.ended;
});

test('of one that never answers it ends with 1, after a while', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await new Promise((resolve) => silent.once('listening', resolve));
  const { port } = silent.address() as AddressInfo;
  const { code, stderr } = await check({ FACEMATCH_ADMIN_PORT: String(port) });
  expect(code).toBe(1);
  expect(stderr).toContain('aborted');
  silent.closeAllConnections();
  silent.close();
});
