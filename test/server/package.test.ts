import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';

/** `npm run package`: what the package of the program asks for and links to. */

const folder = projectPath('build/package/facematch');

function made(...options: string[]) {
  execFileSync(process.execPath, [projectPath('scripts/package.mjs'), '--only', 'program-files', ...options]);
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

test('only the package for the registry asks for packages of ours, and each says which repository it is of', () => {
  const asked = (manifest: Record<string, object>) =>
    ['dependencies', 'optionalDependencies'].flatMap((kind) =>
      Object.keys(manifest[kind] ?? {}).filter((name) => name.includes('facematch')),
    );
  expect(asked(made('--registry'))).toEqual(['@facematch/linux-x64', '@facematch/linux-arm64']);
  const manifest = made();
  expect(asked(manifest)).toEqual([]);
  const { repository, homepage, bugs } = JSON.parse(readFileSync(projectPath('package.json'), 'utf8'));
  expect(manifest).toMatchObject({ repository, homepage, bugs });
  expect(repository.url).toBe(`git+${homepage}.git`);
});

test('a link of its pages leads to a file in it, or to the repository', () => {
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.md'),
  );
  expect(pages.length).toBeGreaterThan(20);
  const links = pages.flatMap((page) =>
    [...readFileSync(join(folder, page), 'utf8').matchAll(/\]\((?!\w+:|#)([^)#]+)/g)].map(([, to]) =>
      join(dirname(page), to!),
    ),
  );
  expect(links).toContain('deploy/facematch.service');
  expect(links.filter((path) => !existsSync(join(folder, path)))).toEqual([]);
});
