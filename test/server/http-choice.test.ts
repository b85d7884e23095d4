import { describe, expect, test } from 'vitest';
import { newFolder } from '../support/folder.ts';
import { program, run } from './support/cli.ts';
import { getHead, RawClient } from './support/client.ts';
import { diagnose } from './support/doctor.ts';
import { TestServer, transport } from './support/server.ts';

/** What speaks HTTP, and where that is told. test/transport runs on node:http once more. */

/** A module that makes the machine one for which no package has a binary. */
const withoutUws = `data:text/javascript,${encodeURIComponent(`
  import Module from 'node:module';
  const resolve = Module._resolveFilename;
  Module._resolveFilename = (name, ...rest) => {
    if (/build\\/uws/.test(name)) throw new Error('no binary');
    return resolve(name, ...rest);
  };`)}`;

const info = async (server: TestServer) =>
  (await server.metrics()).match(/^facematch_build_info.*http="(\w+)",uws="(.*?)"/m)!.slice(1);

describe('where no µWebSockets.js loads', () => {
  const node = ['--import', withoutUws];

  test('node:http serves, and log, readiness and metrics tell it', async () => {
    const server = await TestServer.forTest({ node, env: { FACEMATCH_HTTP: 'auto' } });
    const [line, ...more] = server.stderr.filter((text) => text.includes('node:http'));
    const msg = 'HTTP is served by node:http, because no µWebSockets.js loads';
    expect(JSON.parse(line!)).toMatchObject({ level: 'warn', msg });
    expect(more).toEqual([]);
    const detail = expect.stringMatching(/^HTTP is served by node:http: µWebSockets\.js has no/);
    expect(await server.probe()).toEqual([200, { status: 'ready', http: 'node', detail }]);
    expect(await info(server)).toEqual(['node', '']);
  });

  test('the doctor warns, and finds it wrong only where µWebSockets.js is asked for', async () => {
    const env = { NODE_OPTIONS: `--import ${withoutUws}` };
    const { of } = await diagnose(newFolder(), { ...env, FACEMATCH_HTTP: 'auto' });
    expect(of('HTTP')).toMatchObject({ status: 'warning', value: expect.stringContaining('no binary') });
    const asked = await diagnose(newFolder(), { ...env, FACEMATCH_HTTP: 'uws' });
    expect(asked.of('HTTP')).toMatchObject({ status: 'wrong', cure: 'Set FACEMATCH_HTTP=auto' });
  });

  test('asked for, it ends the start', async () => {
    await expect(TestServer.start({ node, env: { FACEMATCH_HTTP: 'uws' } })).rejects.toThrow(
      /error: FACEMATCH_HTTP=uws: µWebSockets\.js has no binary that runs here[\s\S]*Set FACEMATCH_HTTP=auto/,
    );
  });
});

test('node:http that is asked for is no matter for a warning', async () => {
  const server = await TestServer.forTest({ env: { FACEMATCH_HTTP: 'node' } });
  expect(server.stderr.filter((line) => line.includes('"level":"warn"'))).toEqual([]);
  expect(await server.probe()).toEqual([200, { status: 'ready', http: 'node' }]);
  expect(await info(server)).toEqual(['node', '']);
  expect((await diagnose(newFolder(), { FACEMATCH_HTTP: 'node' })).of('HTTP').status).toBe('ok');
});

describe('how long a connection is kept', () => {
  test('is a setting of node:http, which says it and ends the connection by itself', async () => {
    const server = await TestServer.forTest({ env: { FACEMATCH_HTTP: 'node', FACEMATCH_KEEP_ALIVE_S: '2' } });
    const client = new RawClient(server.port);
    client.write(getHead(server));
    expect((await client.answer()).headers.get('keep-alive')).toBe('timeout=2');
    await client.closed;
  });

  test.skipIf(transport === 'node')('is not one of µWebSockets.js, which says so', async () => {
    const env = { FACEMATCH_HTTP: 'uws', FACEMATCH_KEEP_ALIVE_S: '60' };
    await expect(TestServer.start({ env })).rejects.toThrow(
      /FACEMATCH_KEEP_ALIVE_S: .*10 s.*FACEMATCH_HTTP=node/,
    );
    const { of } = await diagnose(newFolder(), env);
    expect(of('HTTP')).toMatchObject({ status: 'wrong', value: expect.stringContaining('10 s only') });
    expect((await run(program, ['config'], newFolder(), env)).stdout).toContain('FACEMATCH_KEEP_ALIVE_S');
  });
});
