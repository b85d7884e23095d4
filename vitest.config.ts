import { defineConfig } from 'vitest/config';

/** Left out of `npm test`, and run by `npm run test:full`. */
const slow = [
  'test/{browser,model}/**/*.test.ts',
  // Many requests and pictures: hostile ones, properties of faces, memory.
  'test/fuzz/{corpus,server}.test.ts',
  'test/native/{afterimage,face-properties,memory}.test.ts',
  'test/server/{hard-pictures,no-files}.test.ts',
  // Other programs: clients, proxies, several servers, whole commands.
  'test/server/{bench,client-*,clients,cli-eval,documented-examples,eval-report,first-answer}.test.ts',
  'test/server/{limiter-shared,prove-image,proxies,replicas,tls-renewal}.test.ts',
];

// The tests' programs load the native addon by themselves, which wants it.
process.env.ORT_DISABLE_TELEMETRY = '1';

export default defineConfig({
  test: {
    // A fork a file: a crash of the addon takes one file down, not the run.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    globalSetup: 'test/support/compile.ts',
    projects: [
      { extends: true, test: { name: 'fast', include: ['test/**/*.test.ts'], exclude: slow } },
      { extends: true, test: { name: 'slow', include: slow } },
    ],
  },
});
