import { defineConfig } from 'vitest/config';

/** Left out of `npm test`, and run by `npm run test:full`. */
const slow = [
  'test/{browser,model}/**/*.test.ts',
  // Many requests and pictures: hostile ones, properties of faces, memory.
  'test/fuzz/{corpus,decode,server}.test.ts',
  'test/native/{afterimage,memory}.test.ts',
  'test/server/{hard-pictures,no-files}.test.ts',
  // Other programs: clients, shells, proxies, databases, several servers, whole commands.
  'test/server/{client-*,clients,cli-completion,cli-eval,cli-terminal,eval-report}.test.ts',
  'test/server/{documented-requests,identification}.test.ts',
  'test/server/{limiter-shared,proxies,replicas,systemd-unit,tls-renewal}.test.ts',
  'test/unit/deploy-alerts.test.ts',
  // Machines that lack something.
  'test/server/cli-doctor-machine.test.ts',
  // The contract once more, on the other transport and on another build of µWebSockets.js.
  'test/server/{node-http,uws-next}.test.ts',
  // And on other packs.
  'test/server/{int8,yunet}.test.ts',
];

const unit = ['test/unit/*.test.ts'];

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
      // These load no addon and start no server: a fork for many, so that what they share is imported once.
      { extends: true, test: { name: 'unit', include: unit, exclude: slow, isolate: false } },
      { extends: true, test: { name: 'fast', include: ['test/**/*.test.ts'], exclude: [...unit, ...slow] } },
      { extends: true, test: { name: 'slow', include: slow } },
    ],
  },
});
