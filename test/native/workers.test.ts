import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { packDirectory } from '../../src/engine/pack.ts';
import { builds } from './support/builds.ts';

/** Threads of one process share the nets; nothing that one does may show in another's answer. */

const rounds = 20;
const [released] = builds;

async function answersOf(count: number): Promise<string[]> {
  const worker = new Worker(new URL('support/busy-worker.mjs', import.meta.url), {
    workerData: { rounds: count },
    env: { ...process.env, ...released!.env, FACEMATCH_PACK_DIRECTORY: packDirectory('default') },
  });
  // Both messages and the end may come in one turn of the event loop: whoever listens one by one misses the later ones.
  const messages: unknown[] = [];
  worker.on('message', (message) => messages.push(message));
  await once(worker, 'exit');
  return messages.at(-1) as string[];
}

describe('two workers at once', () => {
  it(`give one and the same answer to ${rounds} matches each`, async () => {
    const alone = await answersOf(1);
    expect(alone).toHaveLength(1);
    expect(await Promise.all([answersOf(rounds), answersOf(rounds)])).toEqual([alone, alone]);
  });
});
