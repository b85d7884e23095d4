import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { projectPath } from '../../../src/config/paths.ts';
import { newFolder } from '../../support/folder.ts';

/** Runs the entry point of the root's compose.yaml unchanged, with the program of this clone. */
test('prints a key once on docker compose up, accepts it, and serves the demo page', async () => {
  const { facematch } = parse(readFileSync(projectPath('compose.yaml'), 'utf8')).services;
  const folder = newFolder();
  mkdirSync(folder, { recursive: true });
  symlinkSync(projectPath('scripts/facematch.mjs'), join(folder, 'facematch'));
  // In compose.yaml, $$ means $.
  const [command, ...args] = facematch.entrypoint.map((word: string) => word.replaceAll('$$', '$'));
  const env = {
    ...facematch.environment,
    PATH: `${folder}:${process.env.PATH}`,
    FACEMATCH_KEYS_FILE: join(folder, 'keys.json'),
    FACEMATCH_PORT: '0',
    FACEMATCH_ADMIN_PORT: '0',
  };
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line.includes('listens on')) break;
  }
  const [, page, key] = /^Demo page: (\S+) {3}API key: (\S+)$/.exec(lines[0]!)!;
  const [, origin] = /listens on (\S+)/.exec(lines.at(-1)!)!;
  expect(lines.filter((line) => line.includes(key!))).toHaveLength(1);
  const models = await fetch(`${origin}/API/v1.0/models`, { headers: { 'x-api-key': key! } });
  const demo = await fetch(origin + new URL(page!).pathname);
  expect([models.status, demo.status]).toEqual([200, 200]);
  // The printed URL has the published port.
  expect(facematch.ports).toEqual([`127.0.0.1:${new URL(page!).port}:8080`]);
});
