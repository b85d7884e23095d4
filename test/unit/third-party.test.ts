import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { licenceFiles, sameText } from '../../scripts/lib/licence-files.mjs';
import { linked, thirdPartyNotices } from '../../scripts/lib/third-party.mjs';
import { projectPath } from '../../src/paths.ts';

/** Whose work facematch uses is told in full, and is what the lock file and the addon say. */

const page = thirdPartyNotices(projectPath('.'));
const rows = page.split('\n').filter((line) => line.startsWith('| '));

interface LockEntry {
  version: string;
  license?: string;
  dev?: boolean;
  os?: string[];
}
const lock: { packages: Record<string, LockEntry> } = JSON.parse(
  readFileSync(projectPath('package-lock.json'), 'utf8'),
);

describe('THIRD_PARTY_NOTICES.md', () => {
  test('is up to date; if not, run: npm run docs', () => {
    expect(readFileSync(projectPath('THIRD_PARTY_NOTICES.md'), 'utf8')).toBe(page);
  });

  const atRunTime = Object.entries(lock.packages).filter(([path, { dev, os }]) => path !== '' && !dev && !os);
  test.each(atRunTime)('has %s with its version and licence', (path, { version, license }) => {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const row = rows.find((line) => line.startsWith(`| \`${name}\``));
    expect(row).toContain(`| ${version} | ${license} |`);
  });

  test('has no package that only builds or tests', () => {
    for (const name of ['vitest', 'typescript', 'sharp']) expect(page).not.toContain(`\`${name}\``);
  });

  test('knows licences alone that a service may be built upon', () => {
    const licences = new Set(
      Object.values(lock.packages).flatMap(({ dev, license }) => (dev ? [] : license)),
    );
    expect([...licences].sort()).toEqual(['(MIT OR CC0-1.0)', 'Apache-2.0', 'BSD-3-Clause', 'ISC', 'MIT']);
  });

  test('carries each licence text once, and to whom it belongs', () => {
    const texts = [...page.matchAll(/```text\n(.*?)\n```/gs)].map(([, text]) => sameText(text!));
    expect(new Set(texts).size).toBe(texts.length);
    for (const words of ['Permission is hereby granted', 'Permission to use', 'Redistribution and use'])
      expect(page).toContain(words);
    expect(page).toMatch(/`zod`.*Copyright \(c\) \d{4} Colin McDonnell/);
  });

  const addon = projectPath('build/addon/Release/facematch.node');
  const readelf = existsSync(addon) ? spawnSync('readelf', ['-d', addon], { encoding: 'utf8' }).stdout : null;
  if (!readelf) process.stderr.write('What the addon links is not compared: no addon, or no readelf\n');
  test.runIf(readelf)('has every library that the addon links, and no other', () => {
    const needed = [...readelf!.matchAll(/\(NEEDED\).*\[(.+)\]/g)].map(([, name]) => name!);
    // The compiler's and the system's own.
    const others = needed.filter((name) => !/^(?:libstdc\+\+|libgcc_s|libc|libm|ld-linux.*)\.so/.test(name));
    const known = linked.flatMap(({ libraries }) => libraries);
    expect(known.filter((start) => !others.some((name) => name.startsWith(start)))).toEqual([]);
    expect(others.filter((name) => !known.some((start) => name.startsWith(start)))).toEqual([]);
  });

  test('has each published net with its hash', () => {
    const manifest = JSON.parse(readFileSync(projectPath('models/packs/default/manifest.json'), 'utf8'));
    for (const net of ['detector', 'landmarks', 'embedder']) {
      const row = rows.find((line) => line.includes(manifest[net].source_sha256));
      expect(row).toContain('MIT, as stated by the package');
      expect(row).toContain(manifest.source.integrity);
    }
  });

  test('names no registry', () => {
    expect(page).not.toMatch(/registry\.|npmjs|resolved/);
  });
});

describe('the licence files of a package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'facematch-licence-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const of = (files: Record<string, string>) => {
    const made = mkdtempSync(join(folder, 'package-'));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(made, name), text);
    return licenceFiles(made);
  };
  const mit = 'Permission is hereby granted, free of charge';

  test('give the holders, and the terms without title and holders', () => {
    const text = `The MIT License\n\n * Copyright (c) 2020 A B\nCopyright C D\n\n${mit}\n`;
    const [licence] = of({ 'license.md': text }).licences;
    expect(licence).toEqual({ holders: ['Copyright (c) 2020 A B', 'Copyright C D'], text: mit });
  });

  test.each([
    'The above copyright notice and this permission notice shall be included',
    'Copyright [yyyy] [name of copyright owner]',
    'copyright holders be liable',
    'COPYRIGHT HOLDER OR CONTRIBUTORS',
    'copyright license to reproduce',
  ])('do not take "%s" for a holder', (line) => {
    expect(of({ LICENSE: `${line}\n${mit}` }).licences[0]!.holders).toEqual([]);
  });

  test('are all read, notices too, and nothing else', () => {
    const found = of({ LICENSE: mit, COPYING: mit, NOTICE: 'Says this.\n', 'licensed.js': 'x', README: mit });
    expect(found.licences).toHaveLength(2);
    expect(found.notices).toEqual(['Says this.']);
  });

  test('may be missing', () => {
    expect(of({})).toEqual({ licences: [], notices: [] });
    expect(licenceFiles(join(folder, 'nowhere'))).toEqual({ licences: [], notices: [] });
  });

  test('with terms that are not known are an error that names the folder', () => {
    expect(() => of({ LICENSE: 'All rights reserved.' })).toThrow(/no words that are known/);
  });
});
