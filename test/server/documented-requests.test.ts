import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endpointIds, readConfig } from '../../src/config/config.ts';
import { openApiDocument } from '../../src/site/document.ts';
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
  /^(?:KEY=\$\()?(?:npx )?facematch (?:match|detect|demo|config|keys create|keys list) ?[^…]*$/;
const commands = documentedCommands()
  .filter(({ line }) => /^curl |^node first-match/.test(line) || commandLine.test(line))
  // With and without npx is the same command.
  .filter(({ line }, at, all) => all.findIndex((one) => plain(one.line) === plain(line)) === at);

test('there is something to run', () => {
  expect(commands.length).toBeGreaterThan(25);
});

const { paths } = openApiDocument(readConfig({ FACEMATCH_ENDPOINTS: endpointIds.join(',') }));
const samples = Object.values(paths).flatMap((item) =>
  Object.entries(item).flatMap(([method, { operationId, 'x-codeSamples': each }]) =>
    each.map((sample) => ({ method, operationId, ...sample })),
  ),
);

/** Python's is read, not run: it asks for a package. */
test.each(samples)('$operationId with $label, as the OpenAPI document shows', async (sample) => {
  writeFileSync(join(shell.folder, 'sample.mjs'), sample.source);
  const line = {
    Shell: sample.source.replace(/^curl /, 'curl --fail-with-body '),
    JavaScript: 'node sample.mjs',
    Python: 'python3 -c \'import ast; ast.parse(open("sample.mjs").read())\'',
  }[sample.lang]!;
  // The API's page is too long for a pipe.
  const { code, stderr } = await shell.run(`${line} > answer`);
  const answer = readFileSync(join(shell.folder, 'answer'), 'utf8');
  expect(code, `${answer}\n${stderr}`).toBe(0);
  expect(answer.slice(0, 100)).not.toMatch(/^{"type":/);
});

test.each(commands)('$line ($file)', async ({ line }) => {
  // A refusal of the server is a failure of the command that is shown.
  const { code, stdout, stderr } = await shell.run(line.replace(/^curl /, 'curl --fail-with-body '));
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  // JSON goes to standard output alone.
  if (line.includes('--json')) JSON.parse(stdout);
});

test("the README's block waits for the server, and the answer below it is the demo's", async () => {
  const readme = pages.get('README.md')!;
  const [, request] = /^(curl (?:.*\\\n)*.*)$/m.exec(readme)!;
  expect(request).toContain('--retry-connrefused');
  const shown = JSON.parse(/^```json\n(.*?)^```$/ms.exec(readme)![1]!);
  const { stdout } = await shell.run('facematch demo --json');
  const given = JSON.parse(stdout);
  const { faces: _, ...image1 } = given.image1;
  const { faces: __, ...image2 } = given.image2;
  const { pairs: ___, ...rest } = { ...given, image1, image2 };
  // The last digit may differ from processor to processor, and times and ids do each time.
  const own = ['request_id', 'timings_ms', 'confidence_percent', 'similarity'] as const;
  const alike = Object.fromEntries(own.map((name) => [name, expect.anything()]));
  expect(shown).toEqual({ ...rest, ...alike });
  expect(Object.keys(shown)).toEqual(Object.keys(rest));
  expect(Object.keys(shown.timings_ms)).toEqual(Object.keys(given.timings_ms));
  expect(shown.confidence_percent).toBeCloseTo(given.confidence_percent, 0);
  expect(shown.similarity).toBeCloseTo(given.similarity, 2);
});
