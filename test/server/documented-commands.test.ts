import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { markdownFiles, pageText, readPage } from '../support/markdown.ts';
import { built, type Outcome } from './support/cli.ts';
import { commandsOf, shellLines, synopsesOf } from './support/doc-commands.ts';
import { docFolder } from './support/doc-folder.ts';
import type { Form } from './support/doc-form.ts';
import { asWritten, forms, mention, never, serving } from './support/doc-forms.ts';
import { DocShell, longest_ms, type Running } from './support/doc-shell.ts';
import { shapeFaults } from './support/shape.ts';

/** Every command, request and answer in the docs, for real: in a clone, against a server started as they say. */

const pages = new Map(
  markdownFiles()
    .filter((file) => file !== 'CHANGELOG.md')
    .map((file) => [file, readPage(pageText(file))]),
);
/** Each once, with the page that has it first. */
const documented = new Map<string, string>();
for (const [file, page] of pages) {
  for (const command of commandsOf(page)) if (!documented.has(command)) documented.set(command, file);
}

/** Undefined for a command that nobody has listed. */
function formOf(command: string): Form | undefined {
  const listed = forms[command];
  if (listed !== undefined) return listed;
  const stands = serving.test(command) || asWritten.some((pattern) => pattern.test(command));
  return stands ? { run: command, because: 'as it stands' } : undefined;
}

const rows = [...documented]
  .map(([command, file]) => ({ command, file, form: formOf(command) }))
  .filter(({ command, form }) => !(command in never) && (form !== undefined || !mention.test(command)));
for (const { command, form } of rows) {
  if (form?.lacks) process.stderr.write(`Not run: ${command}: ${form.lacks}\n`);
}

/** Programs that are shown, by the name that the line before says to save them as. */
const programs = [...pages.values()]
  .flatMap(({ fences }) => fences)
  .filter(({ language }) => language === 'js')
  .map(({ lead, text }) => ({ name: /`([\w-]+\.mjs)`/.exec(lead)?.[1], text }));

let shell: DocShell;
let server: Running;
beforeAll(async () => {
  if (!built) return;
  shell = new DocShell(await docFolder());
  // Examples say `facematch`, as it is after this.
  await shell.run('npm link');
  const key = (await shell.run('npx facematch keys create --name my-app')).stdout.trim();
  server = await shell.serve('npm start');
  Object.assign(shell.variables, { KEY: key, FACEMATCH_KEY: key, FACEMATCH_URL: server.address });
  for (const port of [8080, 8081]) shell.addresses[`http://127.0.0.1:${port}`] = server.address;
  for (const port of [9090, 9091]) shell.addresses[`http://127.0.0.1:${port}`] = server.admin;
  for (const { name, text } of programs) {
    writeFileSync(join(shell.folder, name!), text.replaceAll('http://127.0.0.1:8080', server.address));
  }
}, 120_000);
afterAll(async () => {
  await server?.stop();
  if (shell !== undefined) rmSync(shell.folder, { recursive: true });
});

test('the pages have commands', () => {
  expect(documented.size).toBeGreaterThan(60);
});

test('every command is listed: run as it stands, in another form, or not at all', () => {
  expect(
    rows.filter(({ form }) => form === undefined).map(({ command, file }) => `${file}: ${command}`),
  ).toEqual([]);
});

test('every command that is listed is in the docs', () => {
  expect(
    [...Object.keys(forms), ...Object.keys(never)].filter((command) => !documented.has(command)),
  ).toEqual([]);
});

test('every program that is shown has a name, and is run', () => {
  const isRun = (name = '') => [...documented.keys()].some((command) => command.includes(`node ${name} `));
  expect(programs.filter(({ name }) => !isRun(name))).toEqual([]);
  expect(programs.length).toBeGreaterThan(0);
});

/** Forms that several commands share are run once. */
const outcomes = new Map<string, Promise<Outcome>>();
function outcomeOf({ run, where }: Form): Promise<Outcome> {
  // A refusal of the server is a failure of the command that is shown.
  const line = run
    .replace(/^curl /, 'curl --fail-with-body ')
    .replace(/^(KEY=)(\$\(.*\))$/, '$1$2; [[ $KEY == fm_* ]]');
  const outcome = outcomes.get(run) ?? shell.run(line, where);
  outcomes.set(run, outcome);
  return outcome;
}

describe.skipIf(!built)('a reader may type', () => {
  const runnable = rows.filter(({ form }) => form !== undefined && !form.lacks);

  test.each(runnable.filter(({ form }) => !serving.test(form!.run)))(
    '$command ($file)',
    async ({ form }) => {
      const { run, codes = [0], says = /(?:)/ } = form!;
      const { code, stdout, stderr } = await outcomeOf(form!);
      const output = `${stdout}\n${stderr}`;
      expect(codes, `${run}\n${output.slice(-3000)}`).toContain(code);
      expect(output).toMatch(says);
      // JSON goes to standard output alone.
      if (/--json\b/.test(run) && !run.includes('|') && !run.includes('>')) JSON.parse(stdout);
    },
    longest_ms,
  );

  test.each(
    runnable.filter(({ form }) => serving.test(form!.run)),
  )('$command, and it serves ($file)', async ({ form }) => {
    const own = await shell.serve(form!.run);
    expect((await fetch(`${own.address}/API/v1.0/openapi.json`)).status).toBe(200);
    expect((await fetch(`${own.admin}/readyz`)).status).toBe(200);
    await own.stop();
    await expect(fetch(`${own.admin}/readyz`)).rejects.toThrow();
  });
});

describe.skipIf(!built)('the command line has', () => {
  const synopses = [...pages.values()].flatMap(synopsesOf);
  const named = [...documented.keys()].filter(
    (command) => mention.test(command) && formOf(command) === undefined && !(command in never),
  );
  const mentions = named.map((command) => command.replace(/^(?:npx )?facematch /, ''));

  test.each([...new Set([...synopses, ...mentions])])('%s', async (synopsis) => {
    const [command = ''] = /^[a-z]+(?: [a-z]+)*(?= |$)/.exec(synopsis) ?? [];
    const { code, stdout } = await outcomeOf({ run: `npx facematch ${command} --help`, because: 'its help' });
    expect(code).toBe(0);
    // The help of a subcommand that is none is that of the command above it.
    expect(stdout).toContain(`facematch ${command} `);
    const words = synopsis.match(/--[\w-]+|\b[a-z]+\b(?=[|`]|$)/g) ?? [];
    expect(words.filter((word) => !stdout.includes(word))).toEqual([]);
  });

  test('something of both kinds to look for', () => {
    expect(synopses.length).toBeGreaterThan(4);
    expect(named.length).toBeGreaterThan(2);
  });
});

const objects = [...pages].flatMap(([file, { fences }]) =>
  fences
    .filter(({ language, text }) => language === 'json' && text.startsWith('{'))
    .map(({ text }) => ({ file, text, value: JSON.parse(text) })),
);
const isSettings = ({ value }: { value: object }) =>
  Object.keys(value).every((name) => name.startsWith('FACEMATCH_'));

describe.skipIf(!built)('a file of settings that is shown', () => {
  const shown = objects.filter(isSettings);

  test('there is one', () => {
    expect(shown.length).toBeGreaterThan(0);
  });

  test.each(shown)('is valid ($file)', async ({ text }) => {
    writeFileSync(join(shell.folder, 'shown.json'), text);
    const { code, stderr } = await shell.run('FACEMATCH_CONFIG=shown.json npx facematch config --check');
    // Variables of this test's shell that are no settings are warned of.
    expect([code, stderr.match(/^error:.*/gm)]).toEqual([0, null]);
  });
});

describe.skipIf(!built)('an answer that is shown', () => {
  const shown = objects.filter((object) => !isSettings(object));
  const request = '-H "x-api-key: $KEY" "$FACEMATCH_URL/API/v1.0';
  /** By a member that no other kind has; the real one comes from the server. */
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
  )('with %s has members and types as a real one has', async (member, line) => {
    const real = JSON.parse((await shell.run(line)).stdout);
    for (const { file, value } of shown.filter(({ value }) => member in value)) {
      // What only some problems have is held by docs.test.ts, for each of them.
      const common =
        member === 'code'
          ? Object.fromEntries(
              Object.keys(real)
                .filter((name) => name !== 'field')
                .map((name) => [name, value[name]]),
            )
          : value;
      expect(shapeFaults(common, real), file).toEqual([]);
    }
  });
});

describe('the reader of commands', () => {
  test('joins lines, and leaves out comments and the last &', () => {
    const text = '# first\nnpm start &\nnpm test   # all\n\ncurl -F a=@b \\\n  http://x/#y\n';
    expect(shellLines(text)).toEqual(['npm start', 'npm test', 'curl -F a=@b http://x/#y']);
  });

  test('knows commands from other code', () => {
    const prose = '`npm test`, `A=1 npx x y`, `… --fast`, `npm`, `curl`, `src/x.ts`, `--json`, `nodes are`';
    expect(commandsOf(readPage(`${prose}\n\`\`\`sh\ncurl x\n\`\`\`\n\`\`\`json\n{}\n\`\`\`\n`))).toEqual([
      'curl x',
      'npm test',
      'A=1 npx x y',
      '… --fast',
    ]);
  });

  test.each<[what: string, shown: unknown, real: unknown, faults: string[]]>([
    ['the same', { a: 1, b: ['x'] }, { a: 2, b: ['y', 'z'] }, []],
    ['a part', { a: { '…': '…' } }, { a: { b: 1 }, c: 2 }, []],
    ['a member that is not there', { a: { b: 1 } }, { a: {} }, ['a.b: number, and really undefined']],
    ['another type', { a: [{ b: '1' }] }, { a: [{ b: 1 }] }, ['a.0.b: string, and really number']],
    ['a list for an object', { a: [] }, { a: {} }, ['a: list, and really object']],
  ])('tells %s', (_, shown, real, faults) => {
    expect(shapeFaults(shown, real)).toEqual(faults);
  });
});
