// This repository's own server, as `npm start` runs it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve } from '../lib/paths.mjs';
import { startProcess } from './process.mjs';

const unlimited = 1_000_000;

/** Settings that differ from the defaults; the report names them. */
export const settings = {
  // Peers let any number of requests wait. The default refuses what it cannot serve soon, and a refusal is no work.
  FACEMATCH_QUEUE: '512',
  FACEMATCH_DEADLINE_MS: '120000',
  // Wrong keys are among what is measured, and guessing is slowed by address.
  FACEMATCH_AUTH_FAILURES_PER_MINUTE: '60000',
  FACEMATCH_AUTH_FAILURE_BURST: '60000',
};

/** `env`: further variables of its process. */
export async function startFacematch({ workers, cores, env = {} }) {
  const { create } = await import('../../dist/src/gate/key-edits.js');
  const { editKeyFile } = await import('../../dist/src/gate/key-file.js');
  const folder = mkdtempSync(join(tmpdir(), 'facematch-bench-keys-'));
  const file = join(folder, 'keys.json');
  const record = {
    name: 'bench',
    scopes: ['match:basic', 'match:advanced'],
    rate: unlimited,
    burst: unlimited,
  };
  const { key } = editKeyFile(file, (records) => create(records, record, Date.now()));
  const server = await startProcess({
    args: serve,
    cores,
    env: {
      FACEMATCH_PORT: '0',
      FACEMATCH_ADMIN_PORT: '0',
      FACEMATCH_KEYS_FILE: file,
      FACEMATCH_WORKERS: String(workers),
      ...settings,
      ...env,
    },
  });
  return {
    ...server,
    key,
    async stop() {
      const end = await server.stop();
      rmSync(folder, { recursive: true, force: true });
      return end;
    },
  };
}
