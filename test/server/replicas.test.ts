import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { run } from './support/cli.ts';
import { redisInstalled } from './support/redis.ts';

/** The proof of docs/replicas.md in small: what holds on a machine of any speed. Its figures are taken by hand. */

const { hasNginx } = await import(projectPath('test/support/nginx.mjs'));
if (!hasNginx) console.log('Skipped: nginx is not installed (apt-get install nginx)');

interface Claim {
  what: string;
  found: string | number;
  ok: boolean;
}

describe.skipIf(!redisInstalled || !hasNginx)('three replicas behind nginx', () => {
  test('keep one limit, and lose no request when one of them or Redis is killed, or all are replaced', async () => {
    const { code, stdout, stderr } = await run(
      projectPath('deploy/replicas/prove.mjs'),
      ['--quick', '--json'],
      projectPath('.'),
    );
    expect(stderr).toBe('');
    const { claims } = JSON.parse(stdout) as { claims: Claim[] };
    expect(claims.filter(({ ok }) => !ok)).toEqual([]);
    expect(claims).toHaveLength(7);
    expect(code).toBe(0);
  }, 180_000);
});
