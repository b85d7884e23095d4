import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Gate, type GateRequest, type Verdict } from '../../src/auth/gate.ts';
import { create, editKeyFile } from '../../src/auth/key-file.ts';
import { KeyStore } from '../../src/auth/key-store.ts';
import type { Scope } from '../../src/auth/keys.ts';
import { newFolder } from '../support/folder.ts';

const now_ms = Date.UTC(2100, 0, 1);
const silent = { info: () => {}, warn: () => {} };
const unknownKey = `fm_${'a'.repeat(12)}_${'b'.repeat(43)}`;

let folder: string;
let file: string;
let keys: KeyStore;

beforeEach(() => {
  folder = newFolder();
  file = join(folder, 'keys.json');
});
afterEach(() => {
  keys?.close();
});

function addKey(scopes: readonly Scope[], burst = 2, expires_in_ms = 1e9): { id: string; key: string } {
  const settings = { name: 'app', scopes, rate: 1, burst, expires_in_ms };
  const { record, key } = editKeyFile(file, (records) => create(records, settings, now_ms));
  return { id: record.id, key };
}

function openGate(
  options: { failureBurst?: number; trustedHops?: number } = {},
): (request: Partial<GateRequest>) => Verdict {
  keys = KeyStore.open(file, silent);
  const gate = new Gate({ keys, failuresPerMinute: 6, failureBurst: 3, trustedHops: 0, ...options });
  const usual: GateRequest = {
    api_key: undefined,
    peer: '192.0.2.1',
    forwarded_for: undefined,
    scope: 'match:basic',
    cost: 1,
    now_ms,
  };
  return (request) => {
    const verdict = gate.check({ ...usual, ...request });
    // Only a shared limiter has to be waited for.
    if (verdict instanceof Promise) throw new Error('it asks somebody else');
    return verdict;
  };
}

/** `code` of a refusal, with the seconds to wait where there are any. */
function refusal(verdict: Verdict): [code: string, retry_after_seconds?: number] {
  if (verdict.ok) throw new Error('it was admitted');
  const { problem, retry_after_seconds } = verdict;
  return retry_after_seconds === undefined ? [problem.code] : [problem.code, retry_after_seconds];
}

describe('the gate', () => {
  test('admits a valid key with its scope, and says what is left', () => {
    const { id, key } = addKey(['match:basic']);
    expect(openGate()({ api_key: key })).toEqual({
      ok: true,
      key: { id, name: 'app', scopes: ['match:basic'], rate: 1, burst: 2 },
      rate: { limit: 2, remaining: 1, reset_seconds: 1, window_seconds: 2 },
      paid: 1,
    });
  });

  test.each([undefined, ''])('asks for a key when it is %j, however often', (api_key) => {
    addKey(['match:basic']);
    const check = openGate();
    for (let sent = 0; sent < 10; sent++) expect(refusal(check({ api_key }))).toEqual(['missing_api_key']);
  });

  test.each([
    ['unknown', () => unknownKey],
    ['malformed', () => 'secret'],
    ['expired', () => addKey(['match:basic'], 2, 1).key],
    [
      'of the right id but another secret',
      () => `${addKey(['match:basic']).key.slice(0, 16)}${'x'.repeat(43)}`,
    ],
  ])('says no more than invalid of a key that is %s', (_what, make) => {
    addKey(['match:basic']);
    const api_key = make();
    const check = openGate();
    const verdict = check({ api_key, now_ms: now_ms + 1 });
    expect(refusal(verdict)).toEqual(['invalid_api_key']);
    expect(verdict).not.toHaveProperty('key_id');
    expect(verdict).not.toHaveProperty('rate');
  });

  test('refuses another scope, names the one that is needed, and charges nothing', () => {
    const { id, key } = addKey(['match:basic'], 1);
    const check = openGate();
    for (let sent = 0; sent < 5; sent++) {
      const verdict = check({ api_key: key, scope: 'match:advanced' });
      expect(refusal(verdict)).toEqual(['forbidden_scope']);
      expect(verdict).toMatchObject({
        key_id: id,
        problem: { extras: { required_scope: 'match:advanced' } },
      });
    }
    expect(check({ api_key: key }).ok).toBe(true);
  });

  test('takes any valid key where any will do', () => {
    const { key } = addKey(['match:advanced']);
    expect(openGate()({ api_key: key, scope: 'any' }).ok).toBe(true);
  });

  test('refuses at the request past the burst, says when to come back, and means it', () => {
    const { id, key } = addKey(['match:basic'], 2);
    const check = openGate();
    expect(check({ api_key: key }).ok).toBe(true);
    expect(check({ api_key: key }).ok).toBe(true);
    const verdict = check({ api_key: key });
    expect(refusal(verdict)).toEqual(['rate_limit_exceeded', 1]);
    expect(verdict).toMatchObject({ key_id: id, rate: { limit: 2, remaining: 0, reset_seconds: 1 } });
    expect(check({ api_key: key, now_ms: now_ms + 999 }).ok).toBe(false);
    expect(check({ api_key: key, now_ms: now_ms + 1000 }).ok).toBe(true);
  });

  test('counts each key by itself', () => {
    const [a, b] = [addKey(['match:basic'], 1), addKey(['match:basic'], 1)];
    const check = openGate();
    expect(check({ api_key: a.key }).ok).toBe(true);
    expect(check({ api_key: a.key }).ok).toBe(false);
    expect(check({ api_key: b.key }).ok).toBe(true);
  });
});

describe('guessing keys', () => {
  test('is slowed down once the failures of an address are spent', () => {
    addKey(['match:basic']);
    const check = openGate({ failureBurst: 3 });
    const guess = (after_ms = 0) => refusal(check({ api_key: unknownKey, now_ms: now_ms + after_ms }));
    for (let sent = 0; sent < 3; sent++) expect(guess()).toEqual(['invalid_api_key']);
    expect(guess()).toEqual(['rate_limit_exceeded', 10]);
    expect(guess(9_999)).toEqual(['rate_limit_exceeded', 1]);
    expect(guess(10_000)).toEqual(['invalid_api_key']);
    expect(guess(10_000)).toEqual(['rate_limit_exceeded', 10]);
  });

  test('does not lock a valid key of the same address out', () => {
    const { key } = addKey(['match:basic']);
    const check = openGate({ failureBurst: 1 });
    check({ api_key: unknownKey });
    expect(refusal(check({ api_key: unknownKey }))).toEqual(['rate_limit_exceeded', 10]);
    expect(check({ api_key: key }).ok).toBe(true);
  });

  test('gains nothing from another address of the same /64', () => {
    addKey(['match:basic']);
    const check = openGate({ failureBurst: 1 });
    check({ api_key: unknownKey, peer: '2001:db8::1' });
    expect(refusal(check({ api_key: unknownKey, peer: '2001:db8::2' }))[0]).toBe('rate_limit_exceeded');
    expect(refusal(check({ api_key: unknownKey, peer: '2001:db8:0:1::1' }))[0]).toBe('invalid_api_key');
  });

  test.each([
    {
      trustedHops: 0,
      second: '203.0.113.2',
      code: 'rate_limit_exceeded',
      why: 'a forged header without trusted hops',
    },
    {
      trustedHops: 1,
      second: '203.0.113.2',
      code: 'invalid_api_key',
      why: 'another client behind the proxy',
    },
    {
      trustedHops: 1,
      second: '9.9.9.9, 203.0.113.1',
      code: 'rate_limit_exceeded',
      why: 'a forged entry before the true one',
    },
  ])('with $trustedHops hops meets $code for $why', ({ trustedHops, second, code }) => {
    addKey(['match:basic']);
    const check = openGate({ failureBurst: 1, trustedHops });
    check({ api_key: unknownKey, forwarded_for: '203.0.113.1' });
    expect(refusal(check({ api_key: unknownKey, forwarded_for: second }))[0]).toBe(code);
  });
});
