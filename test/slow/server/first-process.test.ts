import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { addKey } from '../../fixtures/credentials.ts';
import { execute, program, run } from '../../server/support/cli.ts';
import { twoPhotos } from '../../server/support/client.ts';
import { readiness, TestServer } from '../../server/support/server.ts';
import { newFolder } from '../../support/folder.ts';

const { inherited, startProgram } = await import(projectPath('test/support/programs.mjs'));

/**
 * Tests the server when npm starts it, and as PID 1 of a container, for which the kernel drops every signal without a
 * handler.
 */

const namespaces = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child'];
const [command = '', ...args] = [...namespaces, 'true'];
const allowed = spawnSync(command, args).status === 0;
if (!allowed)
  process.stderr.write('The server is not tested as PID 1: unshare may not create namespaces here\n');

/** Returns the PID of unshare's child on this system. */
function firstProcess({ child: { pid } }: TestServer): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'));
}

describe.skipIf(!allowed)('the server as PID 1', () => {
  test('exits with 0 on SIGTERM', async () => {
    const server = await TestServer.start({ under: namespaces });
    process.kill(firstProcess(server), 'SIGTERM');
    expect(await server.ended).toEqual({ code: 0, signal: null });
  });

  test('exits at once on a second signal after one second, even with requests in flight', async () => {
    const server = await TestServer.start({ under: namespaces, gate: 'open' });
    server.gate.close();
    const running = server.match(twoPhotos()).catch((error: Error) => error);
    await server.metricBecomes('facematch_workers_busy', 1);
    const first = firstProcess(server);
    process.kill(first, 'SIGTERM');
    // Repeats the signal until the process has exited.
    const sending = setInterval(() => existsSync(`/proc/${first}`) && process.kill(first, 'SIGINT'), 50);
    void server.ended.then(() => clearInterval(sending));
    expect(await server.ended).toEqual({ code: 130, signal: null });
    expect(await running).toBeInstanceOf(Error);
  });

  const signal = "process.kill(process.pid,'SIGTERM')";
  test.each([
    ['before the program is loaded', signal],
    [
      'as soon as it has a handler',
      `process.on('newListener',(name)=>{if(name==='SIGTERM')setImmediate(()=>${signal})})`,
    ],
  ])('exits with 0 on SIGTERM %s', async (_when, statement) => {
    const node = ['--import', `data:text/javascript,${encodeURIComponent(statement)}`];
    const [command = '', ...args] = [...namespaces, process.execPath, ...node, program, 'serve'];
    const outcome = await execute(command, args, newFolder(), inherited);
    expect(outcome).toEqual({ code: 0, stdout: '', stderr: '' });
  });
});

/** A hosts file that resolves names to ::1 first, on a machine without ::1. */
const hosts = join(newFolder(), 'hosts');
writeFileSync(hosts, '::1 localhost\n127.0.0.1 localhost\n');
const withoutIpv6 = [
  ...['unshare', '--user', '--map-root-user', '--net', '--mount', 'sh', '-c'],
  `ip link set lo up && ip -6 addr del ::1/128 dev lo && mount --bind ${hosts} /etc/hosts && exec "$@"`,
  'sh',
];
const [lackingCommand = '', ...lackingArgs] = [...withoutIpv6, 'true'];

test.skipIf(spawnSync(lackingCommand, lackingArgs).status !== 0)(
  'listens on localhost without IPv6, and the HEALTHCHECK reaches it on ::',
  async () => {
    const env = { FACEMATCH_HOST: 'localhost', FACEMATCH_ADMIN_HOST: '::' };
    const server = await TestServer.forTest({ under: withoutIpv6, env });
    expect(server.origin).toMatch(/^http:..127\.0\.0\.1:\d+$/);
    const enter = ['--target', String(server.child.pid), '--user', '--net', '--preserve-credentials'];
    const health = [process.execPath, projectPath('dist/src/server/health.js')];
    const settings = { ...inherited, ...env, FACEMATCH_ADMIN_PORT: portOf(server) };
    const outcome = await execute('nsenter', [...enter, ...health], newFolder(), settings);
    expect(outcome).toEqual({ code: 0, stdout: readinessLine('ready'), stderr: '' });
  },
);

test('serves with npm start until SIGTERM, and exits with npm', async () => {
  const file = join(newFolder(), 'keys.json');
  addKey(file);
  const ports = { FACEMATCH_PORT: '0', FACEMATCH_ADMIN_PORT: '0' };
  const env = { ...process.env, ...ports, FACEMATCH_KEYS_FILE: file };
  const args = ['--prefix', projectPath('.'), 'start'];
  const npm = await startProgram('npm', args, { ready: /listens on/, env });
  const [origin] = /http:\S+/.exec(npm.line)!;
  expect((await fetch(`${origin}/API/v1.0/models`)).status).toBe(401);
  // The server inherits npm's pipe, which closes when the server has exited.
  await npm.stop();
  await expect(fetch(`${origin}/API/v1.0/models`)).rejects.toThrow();
});

/** Runs the image's HEALTHCHECK. */

const check = (env: Record<string, string>) =>
  run(projectPath('dist/src/server/health.js'), [], newFolder(), env);
const readinessLine = (status: string) => `${JSON.stringify(readiness(status))}\n`;
const portOf = (server: TestServer) => new URL(server.adminOrigin).port;

test('exits the HEALTHCHECK with 0 for a ready server, and with 1 for a stopped one', async () => {
  const server = await TestServer.start({ env: { FACEMATCH_ADMIN_HOST: '0.0.0.0' } });
  const settings = { FACEMATCH_ADMIN_PORT: portOf(server), FACEMATCH_ADMIN_HOST: '0.0.0.0' };
  expect(await check(settings)).toEqual({ code: 0, stdout: readinessLine('ready'), stderr: '' });
  await server.stop();
  const { code, stdout, stderr } = await check(settings);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('ECONNREFUSED');
});

test('exits the HEALTHCHECK with 1 for a server that is not ready yet', async () => {
  const server = await TestServer.forTest({ gate: 'closed', until: 'listening' });
  const outcome = await check({ FACEMATCH_ADMIN_PORT: portOf(server) });
  expect(outcome).toEqual({ code: 1, stdout: readinessLine('starting'), stderr: '' });
});

test('exits the HEALTHCHECK with 1 after its timeout for a server that never responds', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await new Promise((resolve) => silent.once('listening', resolve));
  const { port } = silent.address() as AddressInfo;
  const { code, stderr } = await check({ FACEMATCH_ADMIN_PORT: String(port) });
  expect(code).toBe(1);
  expect(stderr).toContain('aborted');
  silent.closeAllConnections();
  silent.close();
});
