import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  allSequences,
  Challenges,
  randomSecrets,
  type SharedClaims,
  secretsOf,
} from '../../src/auth/challenges.ts';
import { maxChallenge_characters } from '../../src/endpoints/challenge.ts';
import { Problem } from '../../src/errors.ts';
import { steps } from '../../src/scoring/motion.ts';

/** Tests the tokens of live check challenges. They are signed, bound to a key, expire, and are accepted once. */

const key = 'AbCdEfGhIjKl';
const secrets = randomSecrets();
const make = (options: Partial<ConstructorParameters<typeof Challenges>[0]> = {}) =>
  new Challenges({ steps: 2, lifetime_s: 60, secrets, ...options });
const reasonOf = (act: () => unknown) => {
  try {
    act();
  } catch (error) {
    if (error instanceof Problem) return error.extras.reason;
    throw error;
  }
  return undefined;
};

describe('a token', () => {
  const challenges = make();
  const now_ms = Date.UTC(2030, 0, 31);
  const { challenge, steps: asked, expires_at } = challenges.issue(key, now_ms);

  test('returns its steps until it expires', () => {
    expect(Date.parse(expires_at)).toBe(now_ms + 60_000);
    expect(challenges.verify(challenge, key, now_ms + 59_999).steps).toEqual(asked);
    expect(reasonOf(() => challenges.verify(challenge, key, now_ms + 60_000))).toBe('expired');
  });

  test('has at most the documented length with the maximum number of steps', () => {
    expect(make({ steps: 4 }).issue(key).challenge.length).toBeLessThanOrEqual(maxChallenge_characters);
  });

  test('is rejected with any bit changed, any character missing, or another encoding of the same bytes', () => {
    const bytes = Buffer.from(challenge, 'base64url');
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const forged = Buffer.from(bytes);
      forged[bit >> 3]! ^= 1 << (bit & 7);
      expect(reasonOf(() => challenges.verify(forged.toString('base64url'), key, now_ms))).toBe('malformed');
    }
    const others = ['', 'x', challenge.slice(1), challenge.slice(0, -1), `${challenge}=`, ` ${challenge}`];
    for (const text of [...others, 'A'.repeat(1000), 'é', challenge.padEnd(600, 'A')])
      expect(reasonOf(() => challenges.verify(text, key, now_ms))).toBe('malformed');
  });

  test('is rejected for another key, and by a server with another secret', () => {
    expect(reasonOf(() => challenges.verify(challenge, 'anotherKeyId', now_ms))).toBe('other_key');
    const otherServer = make({ secrets: randomSecrets() });
    expect(reasonOf(() => otherServer.verify(challenge, key, now_ms))).toBe('malformed');
  });

  test('is accepted while any line of the file has its secret', () => {
    const [old, fresh] = secretsOf(`${'o'.repeat(32)}\n${'f'.repeat(32)}`)!;
    const rotating = { current: [old!] };
    const server = make({ secrets: rotating });
    const issued = server.issue(key);
    rotating.current = [fresh!, old!];
    expect(server.verify(issued.challenge, key).steps).toEqual(issued.steps);
    rotating.current = [fresh!];
    expect(reasonOf(() => server.verify(issued.challenge, key))).toBe('malformed');
  });

  test('is rejected as expired if the clock was set back after it was issued', () => {
    expect(reasonOf(() => challenges.verify(challenge, key, now_ms - 3_600_000))).toBe('expired');
  });
});

describe('a challenge', () => {
  const reasonOfUse = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: Problem) => error.extras.reason ?? error.code,
    );

  test('is accepted once, and again only if the server was too busy to analyse the frames', async () => {
    const challenges = make();
    const issued = challenges.verify(challenges.issue(key).challenge, key);
    expect(await reasonOfUse(challenges.use(issued))).toBeUndefined();
    expect(await reasonOfUse(challenges.use(issued))).toBe('used');
    challenges.giveBack(issued);
    expect(await reasonOfUse(challenges.use(issued))).toBeUndefined();
  });

  test('is accepted once among all replicas, and by none while their store is unreachable', async () => {
    const claims = new Set<string>();
    let up = true;
    const shared: SharedClaims = {
      async claim(id) {
        if (!up) throw new Error('not reachable');
        return claims.size < claims.add(id).size;
      },
      unclaim: (id) => claims.delete(id),
    };
    const [one, two] = [make({ shared }), make({ shared })];
    const issued = two.verify(one.issue(key).challenge, key);
    expect(await reasonOfUse(one.use(issued))).toBeUndefined();
    expect(await reasonOfUse(two.use(issued))).toBe('used');
    up = false;
    const next = one.verify(one.issue(key).challenge, key);
    expect(await reasonOfUse(one.use(next))).toBe('not_ready');
    up = true;
    expect(await reasonOfUse(one.use(next))).toBeUndefined();
  });

  test('is stored only when it is used, up to the maximum number', async () => {
    const challenges = make({ capacity: 100 });
    const issued = Array.from({ length: 5000 }, () => challenges.issue(key).challenge);
    expect(new Set(issued).size).toBe(5000);
    expect(challenges.used).toBe(0);
    for (const token of issued.slice(0, 100)) await challenges.use(challenges.verify(token, key));
    expect(await reasonOfUse(challenges.use(challenges.verify(issued[100]!, key)))).toBe('overloaded');
    expect(challenges.used).toBe(100);
  });

  /** Lets the wall clock and the monotonic clock diverge. */
  test('is not accepted twice, however the clock is set, and is forgotten when it has expired', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const challenges = make();
    const { challenge } = challenges.issue(key);
    const issued = challenges.verify(challenge, key);
    await challenges.use(issued);
    const start = Date.now();
    const another = () => challenges.use(challenges.verify(challenges.issue(key).challenge, key));
    // Sets the clock forwards and back again.
    vi.setSystemTime(start + 3_600_000);
    await another();
    vi.setSystemTime(start + 1000);
    expect(await reasonOfUse(challenges.use(challenges.verify(challenge, key)))).toBe('used');
    // Advances both clocks until no earlier challenge is valid.
    vi.advanceTimersByTime(3_700_000);
    await another();
    expect(challenges.used).toBe(1);
  });
});

describe('the steps of a challenge', () => {
  test.each([
    [1, 4],
    [2, 8],
    [3, 32],
    [4, 104],
  ])('are drawn from every valid sequence: length %i, %i sequences', (length, count) => {
    const all = allSequences(length);
    expect(all).toHaveLength(count);
    for (const sequence of all) {
      expect(sequence.some((step, i) => step === sequence[i - 1])).toBe(false);
      const across = sequence.filter((step) => step === 'left' || step === 'right').length;
      if (length > 1) expect([across > 0, across < length]).toEqual([true, true]);
    }
    const drawn = new Set(
      Array.from({ length: 2000 }, () => make({ steps: length }).issue(key).steps.join()),
    );
    expect(drawn.size).toBe(count);
    expect(new Set(all.flat())).toEqual(new Set(steps));
  });
});

test.each([
  ['', undefined],
  ['# a comment\n\n', undefined],
  ['x'.repeat(31), undefined],
  [Array(9).fill('x'.repeat(32)).join('\n'), undefined],
  [`${'x'.repeat(32)}\r\n# older\r\n${'y'.repeat(40)}\r\n`, 2],
])('reads 1 to 8 secrets of at least 32 characters, or rejects the file: %j', (text, count) => {
  expect(secretsOf(text)?.length).toBe(count);
});
