import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';

/** The readers of Dockerfile and .dockerignore: what they do not know is an error, not passed over. */

const { parseDockerfile, parseMount, substitute } = await import(projectPath('deploy/image/dockerfile.mjs'));
const { readIgnore } = await import(projectPath('deploy/image/ignore.mjs'));

describe('the reader of Dockerfiles', () => {
  const stage = (lines: string) =>
    parseDockerfile(`FROM debian:trixie-slim\n${lines}`).stages[0].instructions;

  test.each([
    ['no FROM at all', '# nothing\n', /no FROM/],
    ['RUN before FROM', 'RUN true\nFROM debian', /line 1: RUN stands before/],
    ['an instruction of another kind', 'FROM a\nADD a b', /line 2: ADD is not understood/],
    ['one in small letters', 'FROM a\nrun true', /line 2: run is not understood/],
    ['a name of Object.prototype', 'FROM a\nconstructor x', /line 2: constructor is not understood/],
    ['a flag of another kind', 'FROM a\nCOPY --chown=1:1 a b', /line 2: COPY --chown is not understood/],
    ['ENTRYPOINT by way of a shell', 'FROM a\nENTRYPOINT node x', /line 2: this form of ENTRYPOINT/],
    ['ENTRYPOINT of nothing', 'FROM a\nENTRYPOINT []', /this form of ENTRYPOINT/],
    ['CMD with a number', 'FROM a\nCMD ["node", 1]', /this form of CMD/],
    ['HEALTHCHECK by way of a shell', 'FROM a\nHEALTHCHECK CMD curl x', /this form of HEALTHCHECK/],
    ['HEALTHCHECK switched off', 'FROM a\nHEALTHCHECK NONE', /this form of HEALTHCHECK/],
    ['COPY with wildcards', 'FROM a\nCOPY *.json ./', /this form of COPY/],
    ['COPY to nowhere', 'FROM a\nCOPY a', /this form of COPY/],
    ['a user by name', 'FROM a\nUSER node', /this form of USER/],
    ['a relative WORKDIR', 'FROM a\nWORKDIR app', /this form of WORKDIR/],
    ['ENV without =', 'FROM a\nENV NAME value', /this form of ENV/],
    ['ENV with half a quotation', 'FROM a\nENV NAME="value', /this form of ENV/],
    ['a here-document', 'FROM a\nRUN <<EOF', /this form of RUN/],
    ['FROM with a platform', 'FROM --platform=linux/amd64 a', /FROM --platform is not understood/],
    ['a last line that goes on', 'FROM a\nRUN true \\', /line 2: its last line ends in a backslash/],
  ])('refuses %s', (_what, text, words) => {
    expect(() => parseDockerfile(text)).toThrow(words);
  });

  test('joins lines, and drops comments between them', () => {
    expect(stage('RUN a \\\n  # why\n\n && b\nRUN c')).toMatchObject([
      { line: 2, shell: expect.stringMatching(/^a\s+&& b$/) },
      { line: 6, shell: 'c' },
    ]);
  });

  test('reads flags, quoted values and exec forms', () => {
    expect(
      stage('RUN --mount=type=cache,target=/x --mount=type=bind,from=a,source=/y,target=/z true'),
    ).toMatchObject([
      {
        flags: [
          ['mount', 'type=cache,target=/x'],
          ['mount', 'type=bind,from=a,source=/y,target=/z'],
        ],
      },
    ]);
    expect(parseMount('type=bind,source=/a=b')).toEqual({ type: 'bind', source: '/a=b' });
    expect(stage('ENV A="b c" D=e')).toMatchObject([
      {
        pairs: [
          ['A', 'b c'],
          ['D', 'e'],
        ],
      },
    ]);
    expect(stage('RUN ["a", "b c"]')).toMatchObject([{ command: ['a', 'b c'] }]);
  });

  test('puts values in the place of names, and refuses a name without one', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a Dockerfile's own form
    expect(substitute('$A-${B}c', { A: '1', B: '2' })).toBe('1-2c');
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a Dockerfile's own form
    expect(() => substitute('${NONE}', {})).toThrow('$NONE has no value');
  });
});

describe('.dockerignore', () => {
  test('the last line that matches decides, with all that is below it', () => {
    const lets = readIgnore('*\n!a\na/*.secret\n# comment\n!a/b/c.secret\n');
    const paths = ['z', 'a/x', 'a/b/y', 'a/x.secret', 'a/b/c.secret', 'ab/x'];
    expect(paths.map((path) => lets(path))).toEqual([false, true, true, false, true, false]);
  });

  test.each(['**/x', '[ab]', 'a?'])('refuses the pattern %s', (pattern) => {
    expect(() => readIgnore(pattern)).toThrow('not understood');
  });
});
