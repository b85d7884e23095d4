import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readConfig, unknownVariables } from '../../src/config.ts';
import { projectPath } from '../../src/paths.ts';

/** What the Dockerfile says twice that stands elsewhere, too. deploy/prove-image and the CI build the image. */

const textOf = (file: string) => readFileSync(projectPath(file), 'utf8');
const dockerfile = textOf('Dockerfile');
const execForm = (keyword: string): string[] =>
  JSON.parse(new RegExp(`^ *${keyword} (\\[.*\\])$`, 'm').exec(dockerfile)![1]!);

test('the Dockerfile takes every step of set-up, once and in order', () => {
  const [needed] = textOf('scripts/setup.mjs').split('const devSteps');
  const steps = [...needed!.matchAll(/^ {4}id: '(\w+)'/gm)].map(([, id]) => id);
  const done = [...dockerfile.matchAll(/--only (\S+)/g)].flatMap(([, list]) => list!.split(','));
  expect(steps.length).toBeGreaterThan(4);
  expect(done.toSorted()).toEqual(steps.toSorted());
  expect(done.indexOf('npm')).toBeLessThan(done.indexOf('addon'));
});

test('the image gives Node the flags that npm start gives it', () => {
  const flags = execForm('ENTRYPOINT').slice(0, -1);
  expect(flags.length).toBeGreaterThan(1);
  expect(JSON.parse(textOf('package.json')).scripts.start).toContain(` ${flags.join(' ')} dist/`);
});

test('its environment holds settings, with values that they take', () => {
  const env = Object.fromEntries(
    [...dockerfile.matchAll(/\b(FACEMATCH_\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
  );
  expect(unknownVariables(env)).toEqual([]);
  const { host, admin_host, keys_file, port } = readConfig(env);
  expect([host, admin_host, keys_file]).toEqual(['0.0.0.0', '0.0.0.0', '/etc/facematch/keys.json']);
  expect(dockerfile).toContain(`EXPOSE ${port}\n`);
});
