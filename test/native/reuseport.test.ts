import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { loadAddon } from '../../src/engine/addon.ts';

/** What JavaScript may ask; what the kernel then does, native/test/reuseport_test.cpp and test/server/tls-renewal.test.ts see. */

const addon = loadAddon();

describe('to prefer the newest listener', () => {
  test('of a port where nobody listens is refused', () => {
    expect(addon.preferNewestListener(0)).toBe(false);
    expect(addon.preferNewestListener(1)).toBe(false);
  });

  test('does a port no harm that one listener has for itself', async () => {
    const server = createServer((socket) => socket.end('here'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    expect(addon.preferNewestListener(port)).toBeTypeOf('boolean');
    await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toMatchObject({
      cause: { message: expect.stringContaining('Response does not match') },
    });
    server.close();
  });

  test.each([undefined, null, '80', -1, 65_536, Number.NaN, {}])('of %s is a TypeError', (wrong) => {
    expect(() => addon.preferNewestListener(wrong as number)).toThrow(TypeError);
  });
});
