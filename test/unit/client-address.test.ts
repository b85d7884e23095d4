import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clientAddress } from '../../src/auth/client-address.ts';

const proxy = '10.0.0.1';

describe('the address of a peer', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['0000:0000:0000:0000:0000:ffff:c000:0207', '192.0.2.7'],
    ['64:ff9b::192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['', 'unknown'],
    ['/run/facematch.sock', 'unknown'],
    ['1:2:3:4:5:6:7:8:9', 'unknown'],
  ])('%s is charged to %s', (peer, expected) => {
    expect(clientAddress(peer, undefined, 0)).toBe(expected);
  });
});

describe('X-Forwarded-For', () => {
  test.each([
    { hops: 0, header: '198.51.100.1', expected: proxy, why: 'is ignored without trusted hops' },
    { hops: 1, header: '198.51.100.1', expected: '198.51.100.1', why: 'names the client behind one proxy' },
    {
      hops: 1,
      header: '203.0.113.9, 198.51.100.1',
      expected: '198.51.100.1',
      why: 'is not believed left of the hops',
    },
    {
      hops: 2,
      header: '203.0.113.9, 198.51.100.1',
      expected: '203.0.113.9',
      why: 'is walked as far as the hops',
    },
    { hops: 2, header: '1.1.1.1,203.0.113.9,198.51.100.1', expected: '203.0.113.9', why: 'needs no blanks' },
    {
      hops: 5,
      header: '203.0.113.9, 198.51.100.1',
      expected: '203.0.113.9',
      why: 'may be shorter than the hops',
    },
    { hops: 1, header: '198.51.100.1:4711', expected: '198.51.100.1', why: 'may carry a port' },
    {
      hops: 1,
      header: '[2001:db8::1]:4711',
      expected: '2001:db8:0:0::/64',
      why: 'may carry brackets and a port',
    },
    { hops: 1, header: '"[2001:db8::1]:4711"', expected: '2001:db8:0:0::/64', why: 'may carry quotes' },
    { hops: 1, header: '::ffff:198.51.100.1', expected: '198.51.100.1', why: 'may map IPv4' },
    { hops: 1, header: '', expected: proxy, why: 'may be empty' },
    {
      hops: 1,
      header: '203.0.113.9,',
      expected: proxy,
      why: 'with an empty last entry stays with the proxy',
    },
    { hops: 1, header: 'unknown', expected: proxy, why: 'with a word stays with the proxy' },
    {
      hops: 1,
      header: '203.0.113.9, 999.0.0.1',
      expected: proxy,
      why: 'with a false address stays with the proxy',
    },
    {
      hops: 2,
      header: '203.0.113.9, <script>, 198.51.100.1',
      expected: '198.51.100.1',
      why: 'stops at garbage',
    },
    {
      hops: 3,
      header: '203.0.113.9,, 198.51.100.1',
      expected: '198.51.100.1',
      why: 'stops at an empty entry',
    },
    { hops: 1, header: `${'9'.repeat(8000)}`, expected: proxy, why: 'may be absurdly long' },
    { hops: 1, header: '٢.٣.٤.٥', expected: proxy, why: 'knows no other digits' },
  ])('$why: $hops hops', ({ hops, header, expected }) => {
    expect(clientAddress(proxy, header, hops)).toBe(expected);
  });

  test('written by the client never changes the address behind one appending proxy', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (written) => {
        expect(clientAddress(proxy, `${written}, 198.51.100.1`, 1)).toBe('198.51.100.1');
      }),
    );
  });

  test('never makes an address out of anything else', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom(...'0123456789abf:.,[]% "') }),
    );
    fc.assert(
      fc.property(text, text, fc.nat(5), (peer, header, hops) => {
        const address = clientAddress(peer, header, hops);
        expect(address === 'unknown' || isIP(address.replace('/64', '')) > 0).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});
