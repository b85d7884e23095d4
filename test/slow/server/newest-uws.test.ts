import { expect, test } from 'vitest';
import { chooseTransport } from '../../../src/http/transport.ts';
import { nextNode } from '../../support/programs.mjs';

/** The contract is tried on the newest µWebSockets.js as well: by this Node, or by the one that test:full brings. */
test.skipIf(chooseTransport('auto').name === 'node')(
  'the newest version loads, or else Node and the C library are there with which it is tried',
  () => {
    expect([chooseTransport('auto').uws?.startsWith('20.69.'), nextNode() !== undefined]).toContain(true);
  },
);
