import { expect, test } from 'vitest';
import { usePack } from '../../fixtures/packs.ts';

/** A pack is data: the contract's answers once more, with an embedder in whole numbers. */
usePack('int8');
await import('../../server/match.test.ts');
const { manifest } = await import('../../fixtures/images.ts');

test('these tests ran on the pack int8', () => {
  expect(manifest.embedder.int8?.file).toBe('embed.int8.json');
});
