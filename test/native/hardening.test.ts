import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { errorTable } from '../../src/errors.ts';

/** What CMakeLists.txt asks of compiler and linker, found in the addon of the release by binutils, which come with g++. */

const addon = projectPath('build/addon/Release/facematch.node');
const readelf = (what: string) => execFileSync('readelf', ['--wide', what, addon], { encoding: 'utf8' });

test('all functions are bound when the addon is loaded, and their table is read-only after that', () => {
  expect(readelf('--dynamic')).toMatch(/\(FLAGS\).*BIND_NOW|\(BIND_NOW\)/);
  expect(readelf('--program-headers')).toContain('GNU_RELRO');
});

test('no part of it is writable and executable, the stack neither', () => {
  const segments = readelf('--program-headers').split('\n');
  const stack = segments.find((line) => line.includes('GNU_STACK'));
  expect(stack).toMatch(/ RW /);
  expect(segments.filter((line) => / (?:RWE|WE) /.test(line))).toEqual([]);
});

test('functions with arrays check their stack, calls of the C library their buffers, and vectors their indices', () => {
  const symbols = readelf('--dyn-syms');
  expect(symbols).toContain('__stack_chk_fail');
  // setjmp and longjmp are how libjpeg and libpng report damage.
  expect(symbols).toContain('__longjmp_chk');
  expect(symbols).toContain('__glibcxx_assert_fail');
});

test.runIf(process.arch === 'x64')('every target of an indirect jump is marked as one', () => {
  const code = execFileSync('objdump', ['--disassemble', '--section=.text', addon], {
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });
  expect(code.split('endbr64').length).toBeGreaterThan(100);
});

test("the core's error codes are those of its constants, in their order, and all are in the error table", () => {
  const header = readFileSync(projectPath('native/core/error.h'), 'utf8');
  const listed = (pattern: RegExp, each: RegExp) =>
    [...pattern.exec(header)![1]!.matchAll(each)].map(([, word]) => word!);
  const words = listed(/kErrorCodes = \{([^}]*)\}/, /"([a-z_]+)"/g);
  const constants = listed(/enum class ErrorCode \{([^}]*)\}/, /\bk([A-Z]\w*)/g);
  expect(words.length).toBeGreaterThan(3);
  expect(words).toEqual(constants.map((name) => name.replace(/(?<!^)[A-Z]/g, '_$&').toLowerCase()));
  expect(Object.keys(errorTable)).toEqual(expect.arrayContaining(words));
});
