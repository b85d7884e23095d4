import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { documentedCommands, pages } from '../support/doc-commands.ts';
import { DocShell } from './support/doc-shell.ts';
import { shapeFaults } from './support/shape.ts';

/** What a newcomer copies: requests, the first program, the first commands; and the answers that the pages show. */

const programs = [...pages.values()]
  .flatMap(({ fences }) => fences)
  .filter(({ language }) => language === 'js')
  .map(({ lead, text }) => ({ name: /`([\w-]+\.mjs)`/.exec(lead)?.[1] ?? 'unnamed.mjs', text }));

let shell: DocShell;
beforeAll(async () => {
  shell = await DocShell.start();
  for (const { name, text } of programs) writeFileSync(join(shell.folder, name), shell.reachable(text));
});
afterAll(() => shell.stop());

const commands = documentedCommands().filter(({ whole }) => whole);
const newcomers = ['README.md', 'docs/getting-started.md'];

describe('a reader may type', () => {
  const requests = commands.filter(({ line }) => line.startsWith('curl '));
  const first = commands.filter(
    ({ line, file }) => newcomers.includes(file) && /\b(?:npx facematch|node first-match)/.test(line),
  );

  test('there are requests, a program and commands to try', () => {
    expect(requests.length).toBeGreaterThan(8);
    expect(programs.map(({ name }) => name)).toEqual(['first-match.mjs']);
    expect(first.length).toBeGreaterThan(2);
  });

  test.each([...requests, ...first])('$line ($file)', async ({ line }) => {
    // A refusal of the server is a failure of the command that is shown.
    const { code, stdout, stderr } = await shell.run(line.replace(/^curl /, 'curl --fail-with-body '));
    expect(code, `${stdout}\n${stderr}`).toBe(0);
  });
});

describe('an answer that is shown', () => {
  const objects = [...pages].flatMap(([file, { fences }]) =>
    fences
      .filter(({ language, text }) => language === 'json' && text.startsWith('{'))
      .map(({ text }) => ({ file, value: JSON.parse(text) })),
  );
  const isSettings = (value: object) => Object.keys(value).every((name) => name.startsWith('FACEMATCH_'));
  const shown = objects.filter(({ value }) => !isSettings(value));
  const request = '-H "x-api-key: $KEY" "$FACEMATCH_URL/API/v1.0';
  /** By a member that no other kind has: how to get a real one. */
  const kinds = {
    pairs_compared: `curl -sS -F image1=@passport.jpg -F image2=@selfie.jpg ${request}/face/match/upload"`,
    calibration: `curl -sS ${request}/models"`,
    code: `curl -sS -F image1=@passport.jpg ${request}/face/match/upload"`,
  } as const;

  test('is of a known kind', () => {
    const kindsOf = (value: object) => Object.keys(kinds).filter((member) => member in value);
    expect(shown.filter(({ value }) => kindsOf(value).length !== 1)).toEqual([]);
    expect(shown.length).toBeGreaterThan(20);
  });

  test.each(
    Object.entries(kinds),
  )('with %s has the members and types of a real one', async (member, line) => {
    const real = JSON.parse((await shell.run(line)).stdout);
    const { field: _, ...common } = real;
    for (const { file, value } of shown.filter(({ value }) => member in value)) {
      // What only some problems have is held by docs.test.ts, for each of them.
      const held = Object.fromEntries(Object.keys(common).map((name) => [name, value[name]]));
      expect(shapeFaults(member === 'code' ? held : value, real), file).toEqual([]);
    }
  });
});
