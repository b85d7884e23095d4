import { expect, it } from 'vitest';
import { builds } from './support/builds.ts';
import { runChild } from './support/child.ts';

const [released] = builds;

const longest = 240_000;

it(
  'holds no more memory after 600 mixed pictures than after 200',
  async () => {
    const child = await runChild(released!, 'memory.mjs', ['200', '600'], {
      flags: ['--expose-gc'],
      longest,
    });
    expect(child).toMatchObject({ code: 0, signal: null, stderr: '' });
    const [early, late] = child.stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { rss: number }).rss);
    expect(late! / early!).toBeLessThan(1.03);
  },
  longest,
);
