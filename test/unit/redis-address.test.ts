import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { RedisAddress } from '../../src/config/redis-address.ts';

const plain = { host: 'localhost', port: 6379, db: 0, tls: false, username: undefined, password: undefined };

describe('the address of a Redis', () => {
  test.each([
    ['redis://localhost', {}, 'redis://localhost:6379/0'],
    ['redis://localhost/', {}, 'redis://localhost:6379/0'],
    ['redis://localhost:7000/15', { port: 7000, db: 15 }, 'redis://localhost:7000/15'],
    ['rediss://localhost', { tls: true }, 'rediss://localhost:6379/0'],
    ['redis://[::1]:7000', { host: '::1', port: 7000 }, 'redis://[::1]:7000/0'],
    ['redis://:secret@localhost', { password: 'secret' }, 'redis://:***@localhost:6379/0'],
    [
      'redis://app:p%40ss%2Fw%3Ard@localhost/2',
      { username: 'app', password: 'p@ss/w:rd', db: 2 },
      'redis://app:***@localhost:6379/2',
    ],
  ])('%s is taken', (text, parts, shown) => {
    const address = RedisAddress.parse(text)!;
    const { host, port, db, tls, username, password } = address;
    expect({ host, port, db, tls, username, password }).toEqual({ ...plain, ...parts });
    expect(String(address)).toBe(shown);
  });

  test.each([
    '',
    'localhost:6379',
    'http://localhost',
    'unix:///run/redis.sock',
    'redis://',
    'redis://localhost:0',
    'redis://localhost/db',
    'redis://localhost/0/1',
    'redis://localhost/0?password=x',
    'redis://app@localhost',
    'redis://:50%@localhost',
    'redis://:pass word@localhost',
    'redis://:secret@localhost\n',
    'redis://one,redis://two',
  ])('%j is refused', (text) => {
    expect(RedisAddress.parse(text)).toBeUndefined();
  });

  test('shows its password to nobody who prints the configuration', () => {
    const config = readConfig({ FACEMATCH_LIMITER: 'redis://app:hunter2@localhost' });
    const printed = [
      JSON.stringify(config),
      inspect(config, { depth: 9, showHidden: true }),
      `${config.limiter}`,
    ];
    for (const text of printed) expect(text).not.toContain('hunter2');
    expect(JSON.parse(printed[0]!).limiter).toBe('redis://app:***@localhost:6379/0');
  });

  test('that is wrong is named without its password', () => {
    expect(() => readConfig({ FACEMATCH_LIMITER: 'redis://app:hunter2@localhost:x' })).toThrow(
      'FACEMATCH_LIMITER: expected local, or redis://[[user]:password@]host[:port][/db], or rediss:// for TLS but received a text that may hold a secret',
    );
  });
});
