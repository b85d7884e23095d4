import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { extractedUws } from '../../../src/http/uws/uws.ts';
import { chooseTransport } from '../../../src/server/listeners.ts';
import { copyProgram, diagnose, run } from '../../server/support/cli.ts';
import { TestServer } from '../../server/support/server.ts';
import { newFolder } from '../../support/folder.ts';
import { nextNode } from '../../support/programs.mjs';

/** Tests the doctor on a machine without a free port, the addon or a package. */

let folder: string;
beforeEach(() => {
  folder = newFolder();
});

describe('a port', () => {
  test.each<[whose: string, server: () => Server]>([
    ['a program that never responds', () => createServer(() => {})],
    ['another HTTP server', () => createHttpServer((_asked, response) => response.end('{"status":"fine"}'))],
  ])('fails if %s uses it', async (_whose, start) => {
    const server = start().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { code, of } = await diagnose(folder, { FACEMATCH_PORT: String(port) });
    expect(code).toBe(1);
    expect(of('port')).toEqual({
      what: 'port',
      status: 'fail',
      value: `127.0.0.1:${port} is used by another program`,
      fix: `Stop it, or set FACEMATCH_PORT; to find it: ss -ltnp 'sport = :${port}'`,
    });
    expect(of('admin port').status).toBe('ok');
  });

  test('warns if another facematch uses it, for either listener', async () => {
    const server = await TestServer.forTest();
    const { port } = new URL(server.adminOrigin);
    const env = { FACEMATCH_PORT: String(server.port), FACEMATCH_ADMIN_PORT: port };
    const { code, of } = await diagnose(folder, env);
    expect(code).toBe(0);
    const used = (by: number | string) => `127.0.0.1:${by} is used by a running facematch`;
    const fix = 'Stop it, or set FACEMATCH_PORT';
    expect(of('port')).toMatchObject({ status: 'warning', value: used(server.port), fix });
    expect(of('admin port')).toMatchObject({ status: 'warning', value: used(port) });
    expect((await diagnose(folder, env, { args: ['--strict'] })).code).toBe(1);
  });

  test('fails if both listeners share it, also if one of them listens on every address', async () => {
    const env = { FACEMATCH_HOST: '0.0.0.0', FACEMATCH_PORT: '47831', FACEMATCH_ADMIN_PORT: '47831' };
    const { code, of } = await diagnose(folder, env);
    expect(code).toBe(1);
    const fix = 'Set FACEMATCH_ADMIN_PORT to another port';
    expect(of('admin port')).toMatchObject({ status: 'fail', fix });
  });
});

test.each([
  ['is missing', 'addon.node', 'did not load'],
  ['kills its process', 'addon.cjs', 'was ended by SIGILL'],
])('reports an addon that %s with its fix, in valid JSON', async (_what, name, words) => {
  writeFileSync(join(folder, 'addon.cjs'), "process.kill(process.pid, 'SIGILL')\n");
  const { code, of, stdout, stderr } = await diagnose(folder, { FACEMATCH_ADDON: join(folder, name) });
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  const value = expect.stringContaining(words);
  const fix = 'Correct or unset FACEMATCH_ADDON';
  expect(of('native addon')).toMatchObject({ status: 'fail', value, fix });
  for (const what of ['ONNX Runtime', 'OpenCV', 'models']) expect(of(what).status).toBe('unknown');
  expect(stdout).not.toMatch(/\\n|\bat .*:\d+:\d+/);
});

describe('facematch doctor', () => {
  test('reports a missing build', async () => {
    const script = copyProgram(folder, []);
    const { code, of, findings } = await diagnose(folder, {}, { script });
    expect(code).toBe(1);
    expect(of('native addon')).toMatchObject({ status: 'fail', fix: 'npm run setup' });
    expect(of('models')).toMatchObject({
      status: 'unknown',
      value: 'not loaded, because the native addon did not load',
    });
    expect(findings.filter(({ status }) => status === 'fail')).toHaveLength(1);
  });

  test('accepts a custom µWebSockets.js, and warns about one that it cannot use', async () => {
    const version = '20.57.1';
    const own = join(folder, 'own');
    mkdirSync(own);
    writeFileSync(join(own, 'package.json'), JSON.stringify({ version, main: 'uws.js' }));
    const found = (await diagnose(folder)).of('HTTP').value;
    const [, lifted] = /µWebSockets\.js (\S+),/.exec(found) ?? [];
    const module = JSON.stringify(extractedUws(`${lifted}`));
    writeFileSync(join(own, 'uws.js'), `module.exports = require(${module});`);
    const taken = (await diagnose(folder, { FACEMATCH_UWS: own })).of('HTTP');
    const absent = (await diagnose(folder, { FACEMATCH_UWS: folder })).of('HTTP');
    const doubted = { status: 'warning', fix: 'Correct or unset FACEMATCH_UWS' };
    const value = `µWebSockets.js ${version}, its native binary, from ${own} (FACEMATCH_UWS)`;
    expect(taken).toMatchObject(lifted === undefined ? doubted : { status: 'ok', value });
    expect(absent).toMatchObject(doubted);
    expect(absent.value).toContain(`${folder}: Cannot find module`);
  });

  test('reports a missing package of the command line in one line', async () => {
    const script = copyProgram(folder, ['commander']);
    const { code, stdout, stderr } = await run(script, ['doctor'], folder);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^A part of facematch is missing: Cannot find package 'commander' .*\. Run: rm -r node_modules && npm run setup\n$/,
    );
  });
});

/** The contract also runs on the newest µWebSockets.js, with this Node or with the one that test:full installs. */
test.skipIf(chooseTransport('auto').name === 'node')(
  'loads the newest µWebSockets.js, or finds a Node and a C library to run it with',
  () => {
    expect([chooseTransport('auto').uws?.startsWith('20.69.'), nextNode() !== undefined]).toContain(true);
  },
);
