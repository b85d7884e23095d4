import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { chooseTransport } from '../../src/http/transport.ts';
import { liftedUws, loadUws } from '../../src/http/uws/uws.ts';
import { newFolder } from '../support/folder.ts';

/** On some systems there is no binary; test/server/http-choice.test.ts says what happens then. */
const none = chooseTransport('auto').name === 'node';

test.skipIf(none)('a native module is found, and tells its version', () => {
  const uws = loadUws(undefined);
  expect(uws.version).toMatch(/^20\.(?:51|69)\./);
  expect(uws.App).toBeTypeOf('function');
  expect(uws.LIBUS_LISTEN_EXCLUSIVE_PORT).toBe(1);
  // What µWS reads when it is loaded.
  expect(process.env.UWS_HTTP_MAX_HEADERS_SIZE).toBe('16384');
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
    return `require(${JSON.stringify(liftedUws(loadUws(undefined).version))})`;
  }

  test.each(['20.51.0', '20.99.1'])('is taken first in version %s', (version) => {
    const { version: taken, passedOver, App } = loadUws(own(version));
    expect({ taken, passedOver }).toEqual({ taken: version, passedOver: [] });
    expect(App).toBeTypeOf('function');
  });

  const other = 'is not 20.51 or a later one of 20';
  test.each<[what: string, version: string, reason: string, exported?: string]>([
    ['an older version', '20.50.9', other],
    ['another major version', '21.0.0', other],
    ['JavaScript alone', '20.67.0', 'fell back to', '{ App() {} }'],
  ])('is passed over for %s, and it is told why', (_what, version, reason, exported) => {
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
