import { describe, expect, test, vi } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { chooseTransport } from '../../src/http/transport.ts';

const { nextLibc } = await import(projectPath('test/support/programs.mjs'));

/** The contract over HTTP once more, on the newest µWebSockets.js, where the C library of this machine is too old for it. */

if (nextLibc() === undefined) {
  test('the newest µWebSockets.js loads here by itself, or there is none for this Node', () => {
    expect(chooseTransport('auto').uws ?? '20.').toMatch(/^20\./);
  });
} else {
  vi.stubEnv('FACEMATCH_TEST_LIBC', 'next');
  vi.resetModules();
  const files = ['heads', 'upload', 'refusals', 'limits', 'connections', 'switches', 'tls'];

  describe.each(files)('%s', async (file) => {
    await import(`./${file}.test.ts`);
  });
}
