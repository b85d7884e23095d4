import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { loadAddon } from '../../../src/engine/load-addon.ts';
import { diagnose, program, run } from '../../server/support/cli.ts';
import { RawClient, twoPhotos } from '../../server/support/client.ts';
import { failingStart, TestServer, transport } from '../../server/support/server.ts';
import { newFolder } from '../../support/folder.ts';

/**
 * Tests which HTTP server, ONNX Runtime and execution providers are used, and where they are reported. test/transport
 * also runs on node:http. These tests need no GPU; they check that a missing one is rejected.
 */

/** A module that hides the binaries of µWebSockets.js. */
const withoutUws = `data:text/javascript,${encodeURIComponent(`
  import Module from 'node:module';
  const resolve = Module._resolveFilename;
  Module._resolveFilename = (name, ...rest) => {
    if (/build\\/uws/.test(name)) throw new Error('no binary');
    return resolve(name, ...rest);
  };`)}`;

const info = async (server: TestServer) =>
  (await server.metrics()).match(/^facematch_build_info.*http="(\w+)",uws="(.*?)"/m)!.slice(1);

describe('without a µWebSockets.js that loads', () => {
  const node = ['--import', withoutUws];

  test('serves with node:http, and reports it in log, readiness and metrics', async () => {
    const server = await TestServer.forTest({ node, env: { FACEMATCH_HTTP: 'auto' } });
    const [line, ...more] = server.stderr.filter((text) => text.includes('node:http'));
    const msg = 'failed to load µWebSockets.js; using node:http';
    expect(JSON.parse(line!)).toMatchObject({ level: 'warn', msg });
    expect(more).toEqual([]);
    const detail = expect.stringMatching(/^HTTP is served by node:http: no binary of µWebSockets\.js/);
    expect(await server.probe()).toEqual([200, { status: 'ready', http: 'node', detail }]);
    expect(await info(server)).toEqual(['node', '']);
  });

  test('warns in the doctor, and fails only if µWebSockets.js is required', async () => {
    const env = { NODE_OPTIONS: `--import ${withoutUws}` };
    const { of } = await diagnose(newFolder(), { ...env, FACEMATCH_HTTP: 'auto' });
    expect(of('HTTP')).toMatchObject({ status: 'warning', value: expect.stringContaining('no binary') });
    const asked = await diagnose(newFolder(), { ...env, FACEMATCH_HTTP: 'uws' });
    expect(asked.of('HTTP')).toMatchObject({ status: 'fail', fix: 'Set FACEMATCH_HTTP=auto' });
  });

  test('stops the startup if µWebSockets.js is required', async () => {
    await expect(TestServer.start({ node, env: { FACEMATCH_HTTP: 'uws' } })).rejects.toThrow(
      /error: FACEMATCH_HTTP=uws: no binary of µWebSockets\.js can be used[\s\S]*Set FACEMATCH_HTTP=auto/,
    );
  });
});

test('does not warn if node:http is configured', async () => {
  const server = await TestServer.forTest({ env: { FACEMATCH_HTTP: 'node' } });
  expect(server.stderr.filter((line) => line.includes('"level":"warn"'))).toEqual([]);
  expect(await server.probe()).toEqual([200, { status: 'ready', http: 'node' }]);
  expect(await info(server)).toEqual(['node', '']);
  expect((await diagnose(newFolder(), { FACEMATCH_HTTP: 'node' })).of('HTTP').status).toBe('ok');
});

describe('the keep-alive timeout', () => {
  test('is configurable with node:http, which sends the Keep-Alive header and closes the connection', async () => {
    const server = await TestServer.forTest({ env: { FACEMATCH_HTTP: 'node', FACEMATCH_KEEP_ALIVE_S: '2' } });
    const client = new RawClient(server.port);
    client.write(server.getRequest());
    expect((await client.response()).headers.get('keep-alive')).toBe('timeout=2');
    await client.closed;
  });

  test.skipIf(transport === 'node')('cannot be changed with µWebSockets.js, and is reported', async () => {
    const env = { FACEMATCH_HTTP: 'uws', FACEMATCH_KEEP_ALIVE_S: '60' };
    await expect(TestServer.start({ env })).rejects.toThrow(/KEEP_ALIVE_S: .*10 s.*FACEMATCH_HTTP=node/);
    const { of } = await diagnose(newFolder(), env);
    expect(of('HTTP')).toMatchObject({ status: 'fail', value: expect.stringContaining('10 s only') });
    expect((await run(program, ['config'], newFolder(), env)).stdout).toContain('FACEMATCH_KEEP_ALIVE_S');
  });
});

const folder = newFolder();
const { version, available } = loadAddon().onnxRuntime();

describe('the execution provider', () => {
  test('is the CPU by default, in GET models, metrics and doctor', async () => {
    const server = await TestServer.forTest();
    const { body } = await server.getModels();
    expect(body.runtime).toEqual({ onnxruntime: version, providers: ['cpu'] });
    expect(await server.metrics()).toMatch(/facematch_build_info\{.*providers="cpu".*\} 1/);
    const { of } = await diagnose(folder);
    expect(of('ONNX Runtime').value).toBe(`${version}; in use: cpu; available: ${available.join(', ')}`);
  });

  test('stops the startup if the library does not have it, and lists the existing ones', async () => {
    const message = `FACEMATCH_EXECUTION_PROVIDERS: ONNX Runtime ${version} has no provider abacus; it has ${available.join(', ')}`;
    expect(await failingStart({ FACEMATCH_EXECUTION_PROVIDERS: 'abacus' })).toContain(message);
    const { of } = await diagnose(folder, { FACEMATCH_EXECUTION_PROVIDERS: 'abacus' });
    expect(of('native addon')).toMatchObject({
      status: 'fail',
      value: expect.stringContaining(message),
      fix: 'Correct or unset FACEMATCH_EXECUTION_PROVIDERS; see docs/packs.md',
    });
  });

  // The library on npm supports CUDA, but the part that uses a GPU is another download.
  test.skipIf(!available.includes('cuda')).each(['cuda', 'cuda,cpu'])(
    'stops the startup for an unusable %s instead of using the CPU',
    async (provider) => {
      const message = 'FACEMATCH_EXECUTION_PROVIDERS: cuda cannot be used: ';
      expect(await failingStart({ FACEMATCH_EXECUTION_PROVIDERS: provider })).toContain(message);
      const { of } = await diagnose(folder, { FACEMATCH_EXECUTION_PROVIDERS: provider });
      expect(of('models')).toMatchObject({ status: 'fail', value: expect.stringContaining(message) });
    },
  );
});

describe('another build of ONNX Runtime', () => {
  const installed = projectPath(
    `node_modules/onnxruntime-node/bin/napi-v6/${process.platform}/${process.arch}/libonnxruntime.so.1`,
  );

  test('is loaded instead of the installed one', async () => {
    const other = join(folder, 'another.so');
    copyFileSync(installed, other);
    const server = await TestServer.forTest({ env: { FACEMATCH_ONNXRUNTIME_LIBRARY: other } });
    expect((await server.match(twoPhotos())).body.match).toBe(true);
    const failure = await failingStart({
      FACEMATCH_ONNXRUNTIME_LIBRARY: other,
      FACEMATCH_EXECUTION_PROVIDERS: 'abacus',
    });
    expect(failure).toContain(`ONNX Runtime ${version} from ${other} has no provider abacus`);
  });

  test('stops the startup if the file is not ONNX Runtime', async () => {
    const text = join(folder, 'text.so');
    writeFileSync(text, 'no library');
    for (const [library, words] of [
      [text, `FACEMATCH_ONNXRUNTIME_LIBRARY: ${text}`],
      ['/none.so', '/none.so'],
      ['libm.so.6', 'libm.so.6 is not a build of ONNX Runtime'],
    ] as const)
      expect(await failingStart({ FACEMATCH_ONNXRUNTIME_LIBRARY: library })).toContain(words);
  });
});
