import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { documentedCommands, pages } from '../support/doc-commands.ts';
import { DocShell } from './support/doc-shell.ts';

/** What a reader of the pages copies, run as it stands: requests, the first program, the command line. */

let shell: DocShell;
beforeAll(async () => {
  shell = await DocShell.start();
  const [, program] = /```js\n(.*?)^```$/ms.exec(pages.get('docs/getting-started.md')!)!;
  writeFileSync(join(shell.folder, 'first-match.mjs'), shell.reachable(program!));
});
afterAll(() => shell.stop());

const plain = (line: string) => line.replace('npx ', '');

/** Those of eval and calibrate need sets of labelled photos. */
const commandLine =
  /^(?:KEY=\$\()?(?:npx )?facematch (?:match|detect|demo|config|keys create|keys list|completion) ?[^…]*$/;
const commands = documentedCommands()
  .filter(({ line }) => /^curl |^node first-match/.test(line) || commandLine.test(line))
  // With and without npx is the same command.
  .filter(({ line }, at, all) => all.findIndex((one) => plain(one.line) === plain(line)) === at);

test('there is something to run', () => {
  expect(commands.length).toBeGreaterThan(25);
});

test.each(commands)('$line ($file)', async ({ line }) => {
  // A refusal of the server is a failure of the command that is shown.
  const { code, stdout, stderr } = await shell.run(line.replace(/^curl /, 'curl --fail-with-body '));
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  // JSON goes to standard output alone.
  if (line.includes('--json')) JSON.parse(stdout);
});
