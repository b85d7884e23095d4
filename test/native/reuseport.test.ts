import { expect, test } from 'vitest';
import { loadAddon } from '../../src/engine/load-addon.ts';

/** Wrong arguments. What the calls do: native/test/reuseport_test.cpp, test/server/tls-renewal.test.ts and shutdown.test.ts. */

const addon = loadAddon();

test.each([undefined, null, '80', -1, 65_536, Number.NaN, {}])('a port of %s is a TypeError', (wrong) => {
  expect(() => addon.preferNewestListener(wrong as number)).toThrow(TypeError);
  expect(() => addon.dropNewConnections(wrong as number)).toThrow(TypeError);
});
