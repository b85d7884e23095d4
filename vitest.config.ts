import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { nextNode } from './test/support/programs.mjs';

/** A fork a file: these load nets or the addon into it, or change its environment, and a crash takes one file down. */
const alone = {
  fast: [
    'test/native/*.test.ts',
    'test/server/{cli-pictures,faces,pool,provider}.test.ts',
    'lab/test/{describe-net,packs,pull}.test.ts',
  ],
  slow: [
    'test/model/*.test.ts',
    'test/native/afterimage.test.ts',
    'test/server/cli-terminal.test.ts',
    'lab/test/slow/*.test.ts',
    // The contract's answers once more, on other packs.
    'test/server/{int8,yunet}.test.ts',
  ],
};

/** Left out of `npm test`, and run by `npm run test:full`, besides alone.slow. */
const slow = [
  'test/browser/*.test.ts',
  // Hostile requests and pictures.
  'test/fuzz/corpus.test.ts',
  'test/server/{hard-pictures,no-files}.test.ts',
  // Other programs: clients, shells, proxies, databases, several servers, whole commands.
  'test/server/{client-types,clients}.test.ts',
  'test/server/{documented-requests,identification}.test.ts',
  'test/server/{limiter-shared,limits,proxies,systemd-unit,tls-renewal,wiped-memory}.test.ts',
  'test/unit/deploy-alerts.test.ts',
  // Machines that lack something.
  'test/server/cli-doctor-machine.test.ts',
];

/**
 * The contract over HTTP, which runs twice more: on node:http, and on the newest µWebSockets.js with Node 24 where this Node or C library
 * is too old for it.
 */
const contract = '{connections,heads,refusals,switches,tls,tls-renewal,unread,upload}';

/** One fork for many files, so that what they share is imported once. */
const together = (name: string, include: string[], rest: object = {}) => ({
  extends: true as const,
  test: { name, include, isolate: false, ...rest },
});
const servers = (names: string) => [`test/server/${names}.test.ts`];

// The tests' programs load the native addon by themselves, which wants it.
process.env.ORT_DISABLE_TELEMETRY = '1';

export default defineConfig({
  // As tsconfig.json has it.
  resolve: { alias: { 'facematch/for-lab': fileURLToPath(new URL('src/for-lab.ts', import.meta.url)) } },
  test: {
    pool: 'forks',
    // Most tests wait for programs that they start: one more than two cores.
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    globalSetup: 'test/support/compile.ts',
    // A project's name begins with its tier.
    projects: [
      together('fast', ['test/**/*.test.ts', 'lab/test/*.test.ts'], {
        exclude: [...slow, ...alone.slow, ...alone.fast],
      }),
      { extends: true, test: { name: 'fast-alone', include: alone.fast, exclude: alone.slow } },
      together('slow', slow),
      { extends: true, test: { name: 'slow-alone', include: alone.slow } },
      together('slow-node', servers(contract), { env: { FACEMATCH_HTTP: 'node' } }),
      ...(nextNode() === undefined
        ? []
        : [together('slow-next', servers(contract), { env: { FACEMATCH_TEST_NODE: 'next' } })]),
    ],
  },
});
