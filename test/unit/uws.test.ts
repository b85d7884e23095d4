import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { chooseTransport } from '../../src/http/transport.ts';
import { loadUws } from '../../src/http/uws.ts';
import { projectPath } from '../../src/paths.ts';
import { newFolder } from '../support/folder.ts';

/** On some systems no package has a binary; test/server/http-choice.test.ts says what happens then. */
const none = chooseTransport('auto').name === 'node';

describe.skipIf(none)('loadUws', () => {
  test('finds a native module and tells its version', () => {
    const uws = loadUws(undefined);
    expect(uws.version).toMatch(/^20\.\d+\.\d+/);
    expect(uws.App).toBeTypeOf('function');
    expect(uws.LIBUS_LISTEN_EXCLUSIVE_PORT).toBe(1);
  });

  test('refuses the server in JavaScript that the older package falls back to', () => {
    // The package's own switch for its fallback; in a process of its own, because modules are loaded once.
    const script = `
      const { loadUws } = await import(${JSON.stringify(projectPath('dist/src/http/uws.js'))});
      try { console.log('loaded ' + loadUws().version); } catch (error) { console.log(error.message); }`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, UWS_USE_FALLBACK: 'true' },
    });
    // Where the newer package's binary loads, it is taken and there is nothing to refuse.
    expect(stdout).toMatch(/loaded 20\.57|fell back to JavaScript, which is refused/);
    expect(stdout).not.toContain('loaded 20.30');
  });
});

describe.skipIf(none)('a µWebSockets.js of one’s own', () => {
  const root = newFolder();

  /** The native module that works here, in a package of the given version. */
  function own(version: string, exported = nativeModule()): string {
    const folder = join(root, version);
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ version, main: 'uws.js' }));
    writeFileSync(join(folder, 'uws.js'), `module.exports = ${exported};`);
    return folder;
  }

  function nativeModule(): string {
    const newer = loadUws(undefined).version.startsWith('20.57');
    const name = newer ? 'uWebSockets.js-v20.57' : 'uWebSockets.js';
    const file = createRequire(import.meta.url).resolve(name);
    return `require(${JSON.stringify(file)})`;
  }

  test.each(['20.30.0', '20.99.1'])('is taken first in version %s', (version) => {
    const { version: taken, passedOver, App } = loadUws(own(version));
    expect({ taken, passedOver }).toEqual({ taken: version, passedOver: [] });
    expect(App).toBeTypeOf('function');
  });

  test.each([
    { what: 'an older version', version: '20.29.9', reason: 'is not 20.30 or a later one of 20' },
    { what: 'another major version', version: '21.0.0', reason: 'is not 20.30 or a later one of 20' },
    { what: 'JavaScript alone', version: '20.67.0', exported: '{ App() {} }', reason: 'fell back to' },
  ])('is passed over for $what, and it is told why', ({ version, exported, reason }) => {
    const folder = own(version, exported);
    const uws = loadUws(folder);
    expect(uws.version).toBe(loadUws(undefined).version);
    expect(uws.passedOver[0]).toMatch(new RegExp(`^${folder}: .*${reason}`));
  });

  test('that is not there is passed over in one line', () => {
    const [reason] = loadUws('/nowhere/uws').passedOver;
    expect(reason).toBe("/nowhere/uws: Cannot find module '/nowhere/uws'");
  });
});
