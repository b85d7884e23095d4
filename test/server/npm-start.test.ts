import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { addKey } from '../fixtures/key-files.ts';
import { newFolder } from '../support/folder.ts';

test('npm start serves until SIGTERM, and the server ends with it', async () => {
  const file = join(newFolder(), 'keys.json');
  addKey(file);
  const npm = spawn('npm', ['start'], {
    cwd: projectPath('.'),
    env: { ...process.env, FACEMATCH_PORT: '0', FACEMATCH_ADMIN_PORT: '0', FACEMATCH_KEYS_FILE: file },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  const address = await new Promise<string>((resolve, reject) => {
    npm.stdout.on('data', (chunk) => {
      output += chunk;
      const found = /listens on (http:\S+)/.exec(output);
      if (found) resolve(found[1]!);
    });
    npm.once('exit', () => reject(new Error(`npm start ended early: ${output}`)));
  });
  expect((await fetch(`${address}/API/v1.0/models`)).status).toBe(401);
  const ended = once(npm.stdout, 'end');
  npm.removeAllListeners('exit');
  npm.kill('SIGTERM');
  // The server holds the other end of this pipe: it ends when the server has.
  await ended;
  await expect(fetch(`${address}/API/v1.0/models`)).rejects.toThrow();
});
