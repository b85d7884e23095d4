import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { nextNode } from './test/support/programs.mjs';

/** Folders of test files. What is below test/slow and lab/test/slow is left out of `npm test`; `npm run test:full` runs all. */
const filesOf = (...folders: string[]) => folders.map((folder) => `${folder}/*.test.ts`);

/** Many files share one fork, so that their common modules are imported once. */
const together = (name: string, include: string[], env: Record<string, string> = {}) => ({
  extends: true as const,
  test: { name, include, isolate: false, env },
});

/**
 * One fork per file: these load models or the addon into it, or change its environment, and a crash affects
 * one file.
 */
const alone = (name: string, include: string[]) => ({
  extends: true as const,
  test: { name, include },
});

const without = (...files: string[]) => files.map((file) => `!test/transport/${file}.test.ts`);
/**
 * The contract over HTTP, which runs twice more: on node:http, and on the newest
 * µWebSockets.js with Node 24 if this Node or C library is too old for it.
 */
const contract = filesOf('test/transport');
/**
 * Tests that depend on the version of µWebSockets.js: not the order of checks, nor listeners of the tests'
 * own process.
 */
const ofVersion = [...contract, ...without('listener', 'live', 'rejections', 'unread')];

const built = /^(?:\.\.\/)+dist\/src\/(.*)\.js$/;
const sources = fileURLToPath(new URL('src/$1.ts', import.meta.url));

const slow = ['browser', 'deploy', 'fuzz', 'server'].map((room) => `test/slow/${room}`);

// The tests' programs load the native addon themselves, which requires it.
process.env.ORT_DISABLE_TELEMETRY = '1';

export default defineConfig({
  // Same as in tsconfig.json.
  resolve: { alias: { 'facematch/for-lab': fileURLToPath(new URL('src/for-lab.ts', import.meta.url)) } },
  test: {
    pool: 'forks',
    // Most tests wait for programs that they start, so twice as many run as there are cores (two).
    maxWorkers: 4,
    // A waiting test waits for something that it started; the limit only ends one that hangs, also on a
    // machine under heavy load.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    globalSetup: 'test/support/folder.ts',
    // `npm test` runs fast and unit. They run in the order of their names: short ones fill the end.
    projects: [
      together('fast', filesOf('test/server', 'test/transport', 'lab/test')),
      alone('fast-alone', filesOf('test/native')),
      alone('slow-alone', filesOf('test/slow/model', 'test/slow/native', 'lab/test/slow')),
      together('slow-many', filesOf(...slow)),
      together('slow-node', contract, { FACEMATCH_HTTP: 'node' }),
      ...(nextNode() === undefined
        ? []
        : [together('slow-next', ofVersion, { FACEMATCH_TEST_NODE: 'next' })]),
      // Runs from the sources: nothing is built for them, and scripts that read the built program read the
      // sources.
      {
        ...together('unit', filesOf('test/unit')),
        resolve: { alias: [{ find: built, replacement: sources }] },
      },
    ],
  },
});
