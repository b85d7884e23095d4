import { describe, vi } from 'vitest';

/** The contract over HTTP once more, on node:http. What only concerns the engine is the same on both transports. */

vi.stubEnv('FACEMATCH_HTTP', 'node');
vi.resetModules();

const files = [
  ...['heads', 'upload', 'refusals', 'limits', 'connections', 'switches'],
  ...['tls', 'tls-renewal'],
];

describe.each(files)('%s', async (file) => {
  await import(`./${file}.test.ts`);
});
