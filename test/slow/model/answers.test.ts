import { describe, expect, test } from 'vitest';
import { usePack } from '../../fixtures/packs.ts';
import type { Json } from '../../server/support/client.ts';

/** A pack is data: the contract's answers once more, with an embedder in whole numbers, and with another detector. */

async function answersOf(name: string) {
  await import('../../server/match.test.ts');
  const { manifest } = await import('../../fixtures/images.ts');
  test(`these tests ran on the pack ${name}`, () => expect(manifest.name).toBe(name));
}

describe('the pack int8', async () => {
  usePack('int8');
  await answersOf('int8');
});

describe('the pack yunet', async () => {
  if (!usePack('yunet')) return test.skip('serves');
  await answersOf('yunet');
  const { getModels } = await import('../../server/support/client.ts');
  const { TestServer } = await import('../../server/support/server.ts');

  test('GET models tells whose each file is, and where the pack’s own comes from', async () => {
    const { body } = await getModels(await TestServer.forTest());
    expect(body.source).toEqual({
      kind: 'project',
      name: 'ShiqiYu/libfacedetection.train',
      version: expect.stringMatching(/^[0-9a-f]{40}$/),
      licence: 'Apache-2.0',
    });
    expect(body.files.map(({ role, pack }: Json) => `${role} of ${pack}`)).toEqual([
      ...['detector of yunet', 'landmarks of default', 'embedder of default'],
      ...['cohort of yunet', 'human of yunet', 'occlusion of yunet'],
    ]);
    const [detector] = body.files;
    expect(detector.sha256).toBe(detector.source_sha256);
  });
});
