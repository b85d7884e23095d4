import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { usePack } from '../fixtures/packs.ts';
import type { Json } from './support/client.ts';
import type { TestServer as Server } from './support/server.ts';

/** A pack is data: the contract's answers once more, with another detector. */
if (usePack('yunet')) {
  await import('./match.test.ts');
  const { paths, send } = await import('./support/client.ts');
  const { TestServer } = await import('./support/server.ts');

  describe('GET models of a pack that shares nets with another', () => {
    let server: Server;
    beforeAll(async () => {
      server = await TestServer.start();
    });
    afterAll(() => server.stop());

    test('tells whose each file is, and where the pack’s own comes from', async () => {
      const { status, body } = await send(server, { path: paths.models, method: 'GET' });
      expect(status).toBe(200);
      expect(body.source).toEqual({
        kind: 'project',
        name: 'ShiqiYu/libfacedetection.train',
        version: expect.stringMatching(/^[0-9a-f]{40}$/),
        licence: 'Apache-2.0',
      });
      expect(body.files.map(({ role, pack }: Json) => `${role} of ${pack}`)).toEqual([
        'detector of yunet',
        'landmarks of default',
        'embedder of default',
        'cohort of yunet',
        'human of yunet',
        'occlusion of yunet',
      ]);
      const [detector] = body.files;
      expect(detector.sha256).toBe(detector.source_sha256);
    });
  });
} else {
  test.skip('the server with the pack yunet');
}
