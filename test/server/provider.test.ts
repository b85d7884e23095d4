import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { loadAddon } from '../../src/engine/load-addon.ts';
import { newFolder } from '../support/folder.ts';
import { getModels, match, twoPhotos } from './support/client.ts';
import { diagnose } from './support/doctor.ts';
import { failingStart, TestServer } from './support/server.ts';

/** Which execution provider runs the nets, and from which build of ONNX Runtime. No GPU is needed: one that is not there is refused. */

const folder = newFolder();
const { version, available } = loadAddon().onnxRuntime();

describe('the provider', () => {
  test('is the processor by default, in GET models, metrics and doctor', async () => {
    const server = await TestServer.forTest();
    const { body } = await getModels(server);
    expect(body.runtime).toEqual({ onnxruntime: version, providers: ['cpu'] });
    expect(await server.metrics()).toMatch(/facematch_build_info\{.*provider="cpu".*\} 1/);
    const { of } = await diagnose(folder);
    expect(of('ONNX Runtime').value).toBe(`${version} on cpu; it has ${available.join(', ')}`);
  });

  test('that the library does not have ends the start, with what it has', async () => {
    const message = `FACEMATCH_PROVIDER: ONNX Runtime ${version} has no provider abacus; it has ${available.join(', ')}`;
    expect(await failingStart({ FACEMATCH_PROVIDER: 'abacus' })).toContain(message);
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
      expect(await failingStart({ FACEMATCH_PROVIDER: provider })).toContain(message);
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
    const server = await TestServer.forTest({ env: { FACEMATCH_ONNXRUNTIME: other } });
    expect((await match(server, twoPhotos())).body.match).toBe(true);
    const told = await failingStart({ FACEMATCH_ONNXRUNTIME: other, FACEMATCH_PROVIDER: 'abacus' });
    expect(told).toContain(`ONNX Runtime ${version} of ${other} has no provider abacus`);
  });

  test('that is none ends the start', async () => {
    const text = join(folder, 'text.so');
    writeFileSync(text, 'no library');
    for (const [library, words] of [
      [text, `FACEMATCH_ONNXRUNTIME: ${text}`],
      ['/none.so', '/none.so'],
      ['libm.so.6', 'libm.so.6 is no build of ONNX Runtime'],
    ] as const)
      expect(await failingStart({ FACEMATCH_ONNXRUNTIME: library })).toContain(words);
  });
});
