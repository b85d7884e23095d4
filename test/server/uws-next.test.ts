import { describe, vi } from 'vitest';
import { projectPath } from '../../src/paths.ts';

const { nextLibc } = await import(projectPath('test/support/programs.mjs'));

/** The contract over HTTP once more, on the newest µWebSockets.js, where the C library of this machine is too old for it. */

vi.stubEnv('FACEMATCH_TEST_LIBC', 'next');
vi.resetModules();

const files = ['heads', 'upload', 'refusals', 'limits', 'large-answers', 'connections', 'switches', 'tls'];

describe.skipIf(nextLibc() === undefined).each(files)('%s', async (file) => {
  await import(`./${file}.test.ts`);
});
