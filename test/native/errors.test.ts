import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { errorTable } from '../../src/errors.ts';

const header = readFileSync(projectPath('native/core/error.h'), 'utf8');
const words = [...(/kErrorCodes = \{([^}]*)\}/.exec(header)?.[1] ?? '').matchAll(/"([a-z_]+)"/g)].map(
  ([, word]) => word!,
);
const constants = [
  ...(/enum class ErrorCode \{([^}]*)\}/.exec(header)?.[1] ?? '').matchAll(/\bk([A-Z]\w*)/g),
].map(([, name]) => name!);

it('reads the codes of the native core out of its header', () => {
  expect(words.length).toBeGreaterThan(3);
  expect(header).toContain(`std::array<const char*, ${words.length}> kErrorCodes`);
});

it('has every code of the native core in the error table', () => {
  expect(Object.keys(errorTable)).toEqual(expect.arrayContaining(words));
});

it('has the words of the native core in the order of its constants', () => {
  const spelled = constants.map((name) => name.replace(/(?<!^)[A-Z]/g, '_$&').toLowerCase());
  expect(words).toEqual(spelled);
});
