import { isIP } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { clientAddress } from '../../src/auth/client-address.ts';
import { Gate, QuotaUse } from '../../src/auth/gate.ts';
import { KeyStore } from '../../src/auth/key-store.ts';
import type { Scope } from '../../src/auth/keys.ts';
import { Limiter, type RateLimiter } from '../../src/auth/limiter.ts';
import { create, editKeyFile } from '../../src/cli/key-edits.ts';
import type { Problem } from '../../src/errors.ts';
import { newFolder } from '../support/folder.ts';
import { runs } from '../support/runs.ts';

/**
 * Tests behaviour that depends on time, on the IP address, or on a shared limiter. test/transport/rejections.test.ts
 * tests the order of the checks.
 */

const now_ms = Date.UTC(2100, 0, 1);
const silent = { info: () => {}, warn: () => {} };
const unknownKey = `fm_${'a'.repeat(12)}_${'b'.repeat(43)}`;

let file: string;
let keys: KeyStore | undefined;

beforeEach(() => {
  file = join(newFolder(), 'keys.json');
});
afterEach(() => keys?.close());

function addKey(burst = 2, concurrent = 9): string {
  const settings = { name: 'app', scopes: ['match:basic'] as const, rate: 1, burst, concurrent };
  return editKeyFile(file, (records) => create(records, settings, now_ms)).key;
}

function openGate({ failures = 1, callers }: { failures?: number; callers?: RateLimiter } = {}): Gate {
  keys = new KeyStore(file, silent);
  const settings = {
    auth_failures_per_minute: 6,
    auth_failure_burst: failures,
    trusted_hops: 0,
    token_ms: 250,
  };
  return new Gate(keys, settings, callers);
}

interface Sent {
  scope?: Scope;
  after_ms?: number;
}

/** Sends a request. Returns the code of its rejection (or undefined), and Retry-After if present. */
function ask(gate: Gate, key: string, { scope, after_ms = 0 }: Sent = {}) {
  const quota = new QuotaUse(gate, { peer: '192.0.2.1', headers: new Map([['x-api-key', key]]) });
  const rejection = quota.admit(scope ?? 'match:basic', 1, now_ms + after_ms) as Problem | undefined;
  const code = rejection?.code;
  const [, seconds] = quota.release().find(([name]) => name === 'Retry-After') ?? [];
  return seconds === undefined ? [code] : [code, seconds];
}

describe('a key', () => {
  test('is rejected one request past its burst, and admitted after Retry-After', () => {
    const key = addKey(2);
    const gate = openGate();
    expect([ask(gate, key), ask(gate, key)]).toEqual([[undefined], [undefined]]);
    expect(ask(gate, key)).toEqual(['rate_limit_exceeded', '1']);
    expect(ask(gate, key, { after_ms: 999 })[0]).toBe('rate_limit_exceeded');
    expect(ask(gate, key, { after_ms: 1000 })).toEqual([undefined]);
  });

  test('uses no token for a request outside its scopes', () => {
    const key = addKey(1);
    const gate = openGate();
    for (let sent = 0; sent < 5; sent++) {
      expect(ask(gate, key, { scope: 'match:advanced' })).toEqual(['forbidden_scope']);
    }
    expect(ask(gate, key)).toEqual([undefined]);
  });

  const quotaOf = (gate: Gate, key: string) =>
    new QuotaUse(gate, { peer: '192.0.2.1', headers: new Map([['x-api-key', key]]) });
  const rateLimitOf = (quota: QuotaUse) => Object.fromEntries(quota.release()).RateLimit;

  test.each([
    { paid: 1, spent: [250], left: 9 },
    { paid: 1, spent: [100, 1900], left: 2 },
    { paid: 6, spent: [250], left: 4 },
    { paid: 1, spent: [5000], left: 0 },
  ])('uses $paid tokens, or one per 250 ms of the CPU time $spent if that is more', async (row) => {
    const key = addKey(10);
    const quota = quotaOf(openGate(), key);
    await quota.admit('match:basic', row.paid, Date.now());
    for (const cpu_ms of row.spent) quota.spend(cpu_ms);
    expect(rateLimitOf(quota)).toContain(`r=${row.left};`);
  });

  test('uses tokens for jobs that end after its response, and none for a request that was not served', async () => {
    const key = addKey(100);
    const gate = openGate();
    const remaining = async () => {
      const quota = quotaOf(gate, key);
      await quota.admit('match:basic', 0, Date.now());
      return rateLimitOf(quota);
    };
    const left = quotaOf(gate, key);
    await left.admit('match:basic', 1, Date.now());
    left.release();
    left.spend(2500);
    left.spend(2500);
    expect(await remaining()).toContain('r=80;');
    const unserved = quotaOf(gate, key);
    await unserved.admit('match:basic', 1, Date.now());
    unserved.spend(2500);
    unserved.giveBack();
    unserved.release();
    unserved.spend(2500);
    expect(await remaining()).toContain('r=80;');
  });

  test('stays within its requests in flight while it waits for a shared limiter, and gets tokens back', async () => {
    const key = addKey(5, 1);
    const local = new Limiter(9);
    const take: RateLimiter['take'] = async (...asked) => local.take(...asked);
    const gate = openGate({ callers: { take, settle: (...asked) => local.settle(...asked) } });
    const sender = { peer: '192.0.2.1', headers: new Map([['x-api-key', key]]) };
    const quotas = [new QuotaUse(gate, sender), new QuotaUse(gate, sender)];
    const [first, second] = await Promise.all(quotas.map((one) => one.admit('match:basic', 2, now_ms)));
    expect([first, second?.code]).toEqual([undefined, 'rate_limit_exceeded']);
    quotas[0]!.release();
    const rateLimitOf = Object.fromEntries(quotas[1]!.release());
    expect(rateLimitOf).toMatchObject({ 'Retry-After': '1', RateLimit: expect.stringContaining('r=3;') });
    const admitted = new QuotaUse(gate, sender);
    const late = admitted.admit('match:basic', 0, now_ms);
    admitted.release();
    await late;
    expect(await new QuotaUse(gate, sender).admit('match:basic', 1, now_ms)).toBe(undefined);
  });
});

test('limits failed authentications of an IP address, and never locks out a valid key', () => {
  const key = addKey();
  const gate = openGate({ failures: 3 });
  const tryKey = (after_ms = 0) => ask(gate, unknownKey, { after_ms });
  for (let sent = 0; sent < 3; sent++) expect(tryKey()).toEqual(['invalid_api_key']);
  expect(tryKey()).toEqual(['rate_limit_exceeded', '10']);
  expect(ask(gate, key)).toEqual([undefined]);
  expect(tryKey(9_999)).toEqual(['rate_limit_exceeded', '1']);
  expect(tryKey(10_000)).toEqual(['invalid_api_key']);
  expect(tryKey(10_000)).toEqual(['rate_limit_exceeded', '10']);
});

const proxy = '10.0.0.1';

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['0000:0000:0000:0000:0000:ffff:c000:0207', '192.0.2.7'],
  ['64:ff9b::192.0.2.7', '192.0.2.7'],
  ['2001:0DB8:0001:0002:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['', 'unknown'],
  ['/run/facematch.sock', 'unknown'],
  ['1:2:3:4:5:6:7:8:9', 'unknown'],
])('assigns the peer %s to the bucket %s', (peer, expected) => {
  expect(clientAddress(peer, undefined, 0)).toBe(expected);
});

describe('X-Forwarded-For', () => {
  const garbage = ['', 'unknown', '999.0.0.1', '<script>', '9'.repeat(8000), '٢.٣.٤.٥'];

  test.each([
    ['is ignored without trusted hops', 0, '198.51.100.1', proxy],
    ['names the client behind one proxy', 1, '198.51.100.1', '198.51.100.1'],
    ['is ignored left of the trusted hops', 1, '203.0.113.9, 198.51.100.1', '198.51.100.1'],
    ['is read up to two trusted hops', 2, '1.1.1.1,203.0.113.9,198.51.100.1', '203.0.113.9'],
    ['may be shorter than the trusted hops', 5, '203.0.113.9, 198.51.100.1', '203.0.113.9'],
    ['may contain a port', 1, '198.51.100.1:4711', '198.51.100.1'],
    ['may contain brackets and a port', 1, '[2001:db8::1]:4711', '2001:db8:0:0::/64'],
    ['may contain quotes', 1, '"[2001:db8::1]:4711"', '2001:db8:0:0::/64'],
    ['may contain IPv4 mapped to IPv6', 1, '::ffff:198.51.100.1', '198.51.100.1'],
    ...garbage.flatMap((text): [string, number, string, string][] => [
      ['is ignored if its last entry is invalid', 1, `203.0.113.9,${text}`, proxy],
      ['is read up to an invalid entry', 3, `203.0.113.9,${text},198.51.100.1`, '198.51.100.1'],
    ]),
  ] as const)('%s', (_why, hops, header, expected) => {
    expect(clientAddress(proxy, header, hops)).toBe(expected);
  });

  /** fast-check's unit `binary` makes the same strings, but first spends seconds on a table of all characters. */
  const anyText = (maxLength: number) =>
    fc.array(fc.nat(0x10ffff), { maxLength }).map((points) => String.fromCodePoint(...points));

  test('does not let a client change the IP address that one proxy appends', () => {
    fc.assert(
      fc.property(anyText(200), (written) => {
        expect(clientAddress(proxy, `${written}, 198.51.100.1`, 1)).toBe('198.51.100.1');
      }),
    );
  });

  test('always yields an IP address, a /64 prefix or "unknown"', () => {
    const unit = fc.constantFrom(...'0123456789abf:.,[]% "');
    const text = fc.oneof(anyText(10), fc.string({ unit }));
    fc.assert(
      fc.property(text, text, fc.nat(5), (peer, header, hops) => {
        const address = clientAddress(peer, header, hops);
        expect(address === 'unknown' || isIP(address.replace('/64', '')) > 0).toBe(true);
      }),
      { numRuns: runs(1000) },
    );
  });
});
