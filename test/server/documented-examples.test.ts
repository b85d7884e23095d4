import { afterAll, beforeAll, expect, test } from 'vitest';
import { documentedCommands } from '../support/doc-commands.ts';
import { DocShell } from './support/doc-shell.ts';

/** The examples of the command line, run as they stand. Those of eval and calibrate need sets of labelled photos. */

const example =
  /^(?:KEY=\$\()?(?:npx )?facematch (?:match|detect|demo|config|keys create|keys list|completion) ?[^…]*$/;
const examples = documentedCommands().filter(({ line, whole }) => whole && example.test(line));

let shell: DocShell;
beforeAll(async () => {
  shell = await DocShell.start();
});
afterAll(() => shell.stop());

test('there are examples', () => {
  expect(examples.length).toBeGreaterThan(15);
});

test.each(examples)('$line ($file)', async ({ line }) => {
  const { code, stdout, stderr } = await shell.run(line);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  // JSON goes to standard output alone.
  if (line.includes('--json')) JSON.parse(stdout);
});
