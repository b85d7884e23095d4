import { expect, test } from 'vitest';
import { usePack } from '../fixtures/packs.ts';

/** Runs the addon's tests again with the pack yunet. */
if (usePack('yunet')) {
  await import('./addon.test.ts');
  const { manifest } = await import('../fixtures/images.ts');
  test('these tests ran on the pack yunet', () => {
    expect(manifest.detector.family).toBe('yunet');
  });
} else {
  test.skip('the addon with the pack yunet');
}
