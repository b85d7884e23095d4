import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { loadAddon } from '../../src/engine/load-addon.ts';
import { addKey } from '../fixtures/key-files.ts';
import { newFolder } from '../support/folder.ts';
import { program, run } from './support/cli.ts';
import { match, paths, send, twoPhotos } from './support/client.ts';
import { diagnose } from './support/doctor.ts';
import { TestServer } from './support/server.ts';

/** Which execution provider runs the nets, and from which build of ONNX Runtime. No GPU is needed: one that is not there is refused. */

const folder = newFolder();
const keysFile = join(folder, 'keys.json');
addKey(keysFile);
const { version, available } = loadAddon().onnxRuntime();

/** The end of a server that does not start: exit code and output. */
async function refused(env: Record<string, string>) {
  const { code, stdout, stderr } = await run(program, ['serve'], folder, {
    FACEMATCH_PORT: '0',
    FACEMATCH_ADMIN_PORT: '0',
    FACEMATCH_KEYS_FILE: keysFile,
    ...env,
  });
  return { code, output: stdout + stderr };
}

describe('the provider', () => {
  test('is the processor by default, in GET models, metrics and doctor', async () => {
    const server = await TestServer.start();
    const { body } = await send(server, { path: paths.models, method: 'GET' });
    expect(body.runtime).toEqual({ onnxruntime: version, providers: ['cpu'] });
    const metrics = await server.metrics();
    expect(metrics).toMatch(/facematch_build_info\{.*provider="cpu".*\} 1/);
    await server.stop();
    const { of } = await diagnose(folder);
    expect(of('ONNX Runtime').value).toBe(`${version} on cpu; it has ${available.join(', ')}`);
  });

  test('that the library does not have ends the start, with what it has', async () => {
    const message = `FACEMATCH_PROVIDER: ONNX Runtime ${version} has no provider abacus; it has ${available.join(', ')}`;
    const { code, output } = await refused({ FACEMATCH_PROVIDER: 'abacus' });
    expect(code).toBe(1);
    expect(output).toContain(message);
    const { of } = await diagnose(folder, { FACEMATCH_PROVIDER: 'abacus' });
    expect(of('native addon')).toMatchObject({
      status: 'wrong',
      value: expect.stringContaining(message),
      cure: 'Correct or unset FACEMATCH_PROVIDER; see docs/packs.md',
    });
  });

  // The library on npm knows CUDA; the part that drives a GPU is another download.
  test.skipIf(!available.includes('cuda')).each(['cuda', 'cuda,cpu'])(
    '%s that cannot be used ends the start, and never becomes the processor',
    async (provider) => {
      const message = 'FACEMATCH_PROVIDER: cuda cannot be used: ';
      const { code, output } = await refused({ FACEMATCH_PROVIDER: provider });
      expect(code).toBe(1);
      expect(output).toContain(message);
      const { of } = await diagnose(folder, { FACEMATCH_PROVIDER: provider });
      expect(of('nets')).toMatchObject({ status: 'wrong', value: expect.stringContaining(message) });
    },
  );
});

describe('another build of ONNX Runtime', () => {
  const installed = projectPath(
    `node_modules/onnxruntime-node/bin/napi-v6/${process.platform}/${process.arch}/libonnxruntime.so.1`,
  );

  test('is loaded in place of the installed one', async () => {
    const other = join(folder, 'another.so');
    copyFileSync(installed, other);
    const server = await TestServer.start({ env: { FACEMATCH_ONNXRUNTIME: other } });
    expect((await match(server, twoPhotos())).body.match).toBe(true);
    await server.stop();
    const { output } = await refused({ FACEMATCH_ONNXRUNTIME: other, FACEMATCH_PROVIDER: 'abacus' });
    expect(output).toContain(`ONNX Runtime ${version} of ${other} has no provider abacus`);
  });

  test('that is none ends the start', async () => {
    const text = join(folder, 'text.so');
    writeFileSync(text, 'no library');
    const { code, output } = await refused({ FACEMATCH_ONNXRUNTIME: text });
    expect(code).toBe(1);
    expect(output).toContain(`FACEMATCH_ONNXRUNTIME: ${text}`);
    expect((await refused({ FACEMATCH_ONNXRUNTIME: '/none.so' })).output).toContain('/none.so');
    expect((await refused({ FACEMATCH_ONNXRUNTIME: 'libm.so.6' })).output).toContain(
      'libm.so.6 is no build of ONNX Runtime',
    );
  });
});
