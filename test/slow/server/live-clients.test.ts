import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FacematchClient, FacematchError } from 'facematch/client';
import { expect, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { execute } from '../../server/support/cli.ts';
import { askPython, folder, hasCurl, hasPython } from '../../server/support/client-programs.ts';
import { TestServer } from '../../server/support/server.ts';
import { posesOf, sitter, turnedFrames } from '../../support/turned-head.mjs';

/** Tests a live check with each of the project's clients. */

const server = await TestServer.forFile({
  env: { FACEMATCH_ENDPOINTS: 'challenge,match_live', FACEMATCH_DEADLINE_MS: '60000' },
});
const target = { url: server.origin, key: server.key };
const reference: Buffer = await sitter()!.jpeg().toBuffer();

/** Writes the frames that a challenge requires, and returns their names. */
async function writeFrames(steps: readonly string[]): Promise<string[]> {
  const frames: Buffer[] = await turnedFrames(posesOf(steps));
  writeFileSync(join(folder, 'reference.jpg'), reference);
  return frames.map((frame, i) => {
    writeFileSync(join(folder, `frame${i}.jpg`), frame);
    return `frame${i}.jpg`;
  });
}

test('verifies a person with the client for Node, and does not send a used challenge again', async () => {
  const client = new FacematchClient(target);
  const { challenge, steps } = await client.challenge();
  const frames: Buffer[] = await turnedFrames(posesOf(steps));
  const response = await client.live(challenge, frames, [reference], { threshold_percent: 60 });
  expect(response).toMatchObject({ verified: true, live_reasons: [], threshold_percent: 60 });
  const again = client.live(challenge, frames, [reference]);
  await expect(again).rejects.toThrow(FacematchError);
  await expect(again).rejects.toMatchObject({ code: 'invalid_challenge', problem: { reason: 'used' } });
});

test.skipIf(!hasPython)('verifies a person with the client for Python', async () => {
  const { challenge, steps } = await askPython('client.challenge()', target);
  const frames = JSON.stringify(await writeFrames(steps));
  const response = await askPython(`client.live("${challenge}", ${frames}, ["reference.jpg"])`, target);
  expect(response).toMatchObject({ verified: true, live: true });
});

test.skipIf(!hasCurl)(
  'verifies a person with the shell script, which prints the reason of a failure',
  async () => {
    const env = { PATH: process.env.PATH, FACEMATCH_URL: target.url, FACEMATCH_KEY: target.key };
    const run = (...args: string[]) => execute(projectPath('docs/clients/live.sh'), args, folder, env);
    const { stdout } = await run('challenge');
    const [challenge, steps] = stdout.trim().split('\n') as [string, string];
    const frames = await writeFrames(steps.split(' '));
    const outcome = await run('check', challenge, 'reference.jpg', ...frames);
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(outcome.stdout).toMatch(/^verified: true \(live: true \[\], match: true, [\d.]+ %\)/);
    const again = await run('check', challenge, 'reference.jpg', ...frames);
    expect(again.code).toBe(2);
    expect(again.stderr).toContain('invalid_challenge');
  },
);
