import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { nextNode } from './test/support/programs.mjs';

/**
 * Returns the test files of folders. `npm test` skips test/slow and lab/test/slow; `npm run test:full` runs all
 * tests.
 */
const filesOf = (...folders: string[]) => folders.map((folder) => `${folder}/*.test.ts`);

/** A project whose files share processes, so that common modules are imported only once per process. */
const sharedProject = (name: string, include: string[], env: Record<string, string> = {}) => ({
  extends: true as const,
  test: { name, include, isolate: false, env },
});

/** A project with one process per file, for tests that load models or the addon, or change the environment. */
const isolatedProject = (name: string, include: string[]) => ({
  extends: true as const,
  test: { name, include },
});

const without = (...files: string[]) => files.map((file) => `!test/transport/${file}.test.ts`);
/**
 * Tests of the HTTP behaviour. They also run on node:http, and on the newest µWebSockets.js with Node.js 24 if this
 * system is too old for it.
 */
const contract = filesOf('test/transport');
/** The tests that depend on the version of µWebSockets.js. */
const uwsContract = [...contract, ...without('listener', 'live', 'rejections', 'unread')];

const built = /^(?:\.\.\/)+dist\/src\/(.*)\.js$/;
const sources = fileURLToPath(new URL('src/$1.ts', import.meta.url));

/** Tests whose camera plays a video in real time. On a busy machine, Chromium drops frames. */
const camera = ['live', 'live-check-in'].map((file) => `test/slow/browser/${file}.test.ts`);
const slow = ['browser', 'deploy', 'fuzz', 'server'].map((folder) => `test/slow/${folder}`);

// Disables ONNX Runtime's telemetry, which the native addon requires.
process.env.ORT_DISABLE_TELEMETRY = '1';

export default defineConfig({
  // The same alias as in tsconfig.json.
  resolve: { alias: { 'facematch/for-lab': fileURLToPath(new URL('src/for-lab.ts', import.meta.url)) } },
  test: {
    pool: 'forks',
    // Two per CPU of a machine with two CPUs, because most tests wait for programs that they start.
    maxWorkers: 4,
    // Long enough for a machine under heavy load. These timeouts only end tests that hang.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    globalSetup: 'test/support/folder.ts',
    // Keeps transformed modules in node_modules, which makes repeated runs 9 s shorter.
    experimental: { fsModuleCache: true },
    // `npm test` runs fast, fast-alone and unit. Projects run in the order of their names, the short tests last.
    projects: [
      sharedProject('fast', filesOf('test/server', 'test/transport', 'lab/test')),
      isolatedProject('fast-alone', filesOf('test/native')),
      isolatedProject('slow-alone', filesOf('test/slow/model', 'test/slow/native', 'lab/test/slow')),
      sharedProject('slow-many', [...filesOf(...slow), ...camera.map((file) => `!${file}`)]),
      // Runs after all other projects, one file at a time.
      {
        extends: true as const,
        test: { name: 'slow-camera', include: camera, maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
      sharedProject('slow-node', contract, { FACEMATCH_HTTP: 'node' }),
      ...(nextNode() === undefined
        ? []
        : [sharedProject('slow-next', uwsContract, { FACEMATCH_TEST_NODE: 'next' })]),
      // Runs without a build: imports of the built program are resolved to the sources.
      {
        ...sharedProject('unit', filesOf('test/unit')),
        resolve: { alias: [{ find: built, replacement: sources }] },
      },
    ],
  },
});
