import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';
import { judge, preflight, processors, releases, thisMachine } from '../../src/preflight.mjs';
import { pages } from '../support/doc-commands.ts';
import { newFolder } from '../support/folder.ts';

/** Where facematch runs: the table of src/preflight.mjs beside the packages, docs/deployment.md and package.json; and what it says. */

const inPackage = (path: string) => projectPath(`node_modules/${path}`);
const sorted = (versions: readonly string[]) =>
  [...versions].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));

/** The newest glibc whose symbols a binary asks for: their names stand in its table of strings. */
function glibcOf(file: string): string {
  const names = readFileSync(file, 'latin1').matchAll(/GLIBC_(2\.\d+)/g);
  return sorted([...names].map(([, version]) => version!)).at(-1)!;
}

describe.each(processors)('on %s', (arch) => {
  const runtime = glibcOf(inPackage(`onnxruntime-node/bin/napi-v6/linux/${arch}/libonnxruntime.so.1`));
  const binaries = ['uWebSockets.js/binaries', 'uWebSockets.js-v20.57'].flatMap((folder) =>
    readdirSync(inPackage(folder)).flatMap((name) => {
      const abi = new RegExp(`^uws_linux_${arch}_(\\d+)\\.node$`).exec(name)?.[1];
      return abi === undefined ? [] : [{ abi: Number(abi), glibc: glibcOf(inPackage(`${folder}/${name}`)) }];
    }),
  );

  test.each(releases)('Node $node runs from glibc $glibc', ({ abi, glibc }) => {
    const [least] = sorted(binaries.filter((binary) => binary.abi === abi).map((binary) => binary.glibc));
    expect(sorted([least!, runtime]).at(-1)).toBe(glibc);
  });

  test('no release that has a binary is left out, but for Node 16 and 18, which are too old', () => {
    const others = binaries.map(({ abi }) => abi).filter((abi) => !releases.some((one) => one.abi === abi));
    expect([...new Set(others)].sort()).toEqual([108, 93]);
  });
});

test('the table of docs/deployment.md says the same', () => {
  const rows = pages
    .get('docs/deployment.md')!
    .matchAll(/^\| (\d+)(?:\.(\d+) or later)? \| (2\.\d+) or later \|/gm);
  const promised = [...rows].map(([, major, minor = '0', glibc]) => ({ node: `${major}.${minor}`, glibc }));
  expect(promised).toEqual(releases.map(({ node, glibc }) => ({ node, glibc })));
});

test('engines say the same', () => {
  const { engines } = JSON.parse(readFileSync(projectPath('package.json'), 'utf8'));
  expect(engines.node).toBe(releases.map(({ node }) => `^${node}.0`).join(' || '));
});

describe('a machine', () => {
  const debian12 = { platform: 'linux', arch: 'x64', node: '20.20.2', glibc: '2.36' };
  const debian13 = { ...debian12, glibc: '2.41' };

  test.each([
    debian12,
    { ...debian12, node: '20.17.0', glibc: '2.28' },
    { ...debian13, arch: 'arm64' },
    { ...debian13, node: '22.9.0' },
    { ...debian13, node: '24.21.0', glibc: '2.38' },
    { ...debian13, node: '25.1.0' },
    // Nobody knows; the packages tell.
    { ...debian12, platform: 'darwin', node: '26.0.0', glibc: undefined },
  ])('$node, $glibc, $platform $arch is fit', (machine) => {
    expect(judge(machine, false)).toBeUndefined();
  });

  const own = 'a µWebSockets.js of your own (docs/uws-lifecycle.md#one-of-your-own)';
  test.each([
    [{ node: '20.16.9' }, 'Node 20.16.9 is too old', 'Install Node 20.17 or later of 20'],
    [{ node: '18.20.8' }, 'Node 18.20.8 is too old', 'Install Node 20.17 or later of 20'],
    [{ node: '22.8.0' }, 'Node 22.8.0 is too old', 'Install Node 22.9 or later of 22'],
    [
      { node: '24.21.0' },
      'µWebSockets.js of npm has no binary for Node 24.21.0 on glibc 2.36',
      `Use Node 20 (20.17 or later), or a system with glibc 2.38 or later, such as Debian 13, or ${own}`,
    ],
    [
      { node: '26.10.0', glibc: '2.41' },
      'µWebSockets.js of npm has no binary for Node 26.10.0 on glibc 2.41',
      `Use Node 20 (20.17 or later), 22 (22.9 or later), 24, 25, or ${own}`,
    ],
    [{ glibc: '2.27' }, 'glibc 2.27 is too old', expect.stringContaining('glibc 2.28 or later')],
    [{ glibc: undefined }, 'the C library is not glibc (Alpine?)', expect.stringContaining('Debian 12')],
    [{ arch: 'riscv64' }, 'nothing is built for riscv64 processors', expect.stringContaining('arm64')],
  ])('with %j is unfit, and the way out is named', (difference, fault, cure) => {
    expect(judge({ ...debian12, ...difference }, false)).toEqual({ fault, cure });
  });

  test('with a µWebSockets.js of its own takes any newer Node, but no other C library', () => {
    expect(judge({ ...debian12, node: '26.10.0' }, true)).toBeUndefined();
    expect(judge({ ...debian12, node: '24.21.0' }, true)).toBeUndefined();
    expect(judge({ ...debian12, node: '18.20.8' }, true)?.fault).toBe('Node 18.20.8 is too old');
    expect(judge({ ...debian12, glibc: undefined }, true)?.fault).toContain('not glibc');
  });

  test('that runs the tests is fit', () => {
    expect(thisMachine().node).toBe(process.versions.node);
    expect(preflight(process.env.FACEMATCH_UWS)).toBeUndefined();
  });
});

/** A program of the project under a Node that takes itself for another version. */
function runAs(node: string, folder: string, script: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const versions = `{ ...process.versions, node: ${JSON.stringify(node)} }`;
  const disguise = `data:text/javascript,Object.defineProperty(process, 'versions', { value: ${versions} })`;
  return spawnSync(process.execPath, ['--import', disguise, ...script], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, ...env },
  });
}

describe('set-up', () => {
  function setUp(node: string, env: NodeJS.ProcessEnv = {}) {
    const folder = newFolder();
    for (const part of ['scripts', 'src/preflight.mjs', 'package.json'])
      cpSync(projectPath(part), join(folder, part), { recursive: true });
    // A step that does not exist: it would be refused next.
    return runAs(node, folder, ['scripts/setup.mjs', '--only', 'nothing'], env).stderr;
  }

  test('says so before its first step', () => {
    expect(setUp('99.0.0')).toMatch(/^\n✗ facematch does not run here: µWebSockets\.js .* Node 99\.0\.0 on /);
    expect(setUp(process.versions.node)).toBe('\n✗ --only: there is no step nothing\n');
  });

  test('goes on with a µWebSockets.js of its own that loads, and only then', () => {
    const FACEMATCH_UWS = inPackage(
      process.versions.modules === '115' ? 'uWebSockets.js' : 'uWebSockets.js-v20.57',
    );
    expect(setUp('99.0.0', { FACEMATCH_UWS })).toContain('there is no step nothing');
    expect(setUp('99.0.0', { FACEMATCH_UWS: dirname(FACEMATCH_UWS) })).toContain('does not run here');
    const fallback = { FACEMATCH_UWS: inPackage('uWebSockets.js'), UWS_USE_FALLBACK: 'true' };
    expect(setUp('99.0.0', fallback)).toContain('does not run here');
  });
});

test('serve says so before it looks at anything else', () => {
  const script = [projectPath('dist/src/cli/index.js'), 'serve'];
  const { status, stderr } = runAs('99.0.0', tmpdir(), script, { FACEMATCH_PORT: 'wrong' });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringMatching(/^error: facematch does not run here: .* Node 99\.0\.0 on glibc .*\n$/),
  });
});
