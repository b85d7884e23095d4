import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { describeFinding, examine, fail, ok } from '../../src/cli/doctor/finding.ts';
import { addonFix, judgeCpu } from '../../src/cli/doctor/machine.ts';
import {
  glibcFor,
  judge,
  minGlibc,
  releases,
  thisMachine,
  unmetRequirement,
} from '../../src/cli/system-requirements.mjs';
import { coloursWhen } from '../../src/cli/terminal.ts';
import { projectPath } from '../../src/config/paths.ts';
import { extractedUws, loadUws } from '../../src/http/uws/uws.ts';
import { chooseTransport } from '../../src/server/listeners.ts';
import { pages } from '../support/doc-commands.ts';
import { newFolder } from '../support/folder.ts';

const uwsBuilds: { system: string; folder: string; glibc: string }[] = (
  await import(projectPath('scripts/lib/uws.mjs'))
).uwsBuilds;

const { oldCxx, oldSystem, requireOldSystem } = await import(projectPath('scripts/lib/old-libc.mjs'));

/**
 * Tests that the table of src/cli/system-requirements.mjs agrees with the packages, docs/deployment.md and
 * package.json. Also tests its messages.
 */

const inPackage = (path: string) => projectPath(`node_modules/${path}`);
const sorted = (versions: readonly string[]) =>
  [...versions].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));

/** Returns the newest glibc version that a binary needs, from the symbol versions in its string table. */
function glibcOf(file: string): string {
  const names = readFileSync(file, 'latin1').matchAll(/GLIBC_(2\.\d+)/g);
  return sorted([...names].map(([, version]) => version!)).at(-1)!;
}

const onnxRuntime = inPackage(`onnxruntime-node/bin/napi-v6/linux/${process.arch}/libonnxruntime.so.1`);

test('states the minimum glibc of ONNX Runtime in the table', () => {
  expect(glibcOf(onnxRuntime)).toBe(minGlibc);
});

describe('requireOldSystem', () => {
  test('accepts a library that Debian 11 can load', () => {
    expect(() => requireOldSystem(onnxRuntime, oldCxx)).not.toThrow();
  });

  test('rejects a library that needs a newer glibc, and names the symbol', () => {
    const older = { ...oldCxx, GLIBC: '2.27' };
    expect(() => requireOldSystem(onnxRuntime, older)).toThrow(/GLIBC_2\.27.*: fcntl64@GLIBC_2\.28$/);
  });

  test('rejects a library that needs a shared C++ library although it must be linked statically', () => {
    expect(() => requireOldSystem(onnxRuntime, oldSystem)).toThrow(/@GLIBCXX_3\.4/);
  });
});

describe('µWebSockets.js', () => {
  const systemOf = (node: string) => `linux-x64-${node.split('.')[0]}`;

  test.each(releases)('needs the glibc of the table on Node $node: $uws', ({ node, uws }) => {
    const own = uwsBuilds.filter(({ system }) => system === systemOf(node));
    const [least] = sorted(own.map(({ glibc }) => glibc));
    expect(least && sorted([least, minGlibc]).at(-1)).toBe(uws);
  });

  test('has no binary for a system that the table omits', () => {
    const documented = releases.map(({ node }) => systemOf(node));
    expect(uwsBuilds.filter(({ system }) => !documented.includes(system))).toEqual([]);
  });

  test('needs the glibc that scripts/lib/uws.mjs states, if setup extracted it', () => {
    for (const { folder, glibc } of uwsBuilds) {
      const file = projectPath(`build/uws/${folder}/uws.node`);
      if (existsSync(file)) expect(glibcOf(file)).toBe(glibc);
    }
  });
});

test('lists the same Node releases as docs/deployment.md and package.json', () => {
  const rows = pages
    .get('docs/deployment.md')!
    .matchAll(/^\| (\d+)(?:\.(\d+) or later)? \| (?:(2\.\d+) or later|none) \|/gm);
  const promised = [...rows].map(([, major, minor = '0', uws]) => ({ node: `${major}.${minor}`, uws }));
  expect(promised).toEqual(releases.map(({ node, uws }) => ({ node, uws })));
  const { engines } = JSON.parse(readFileSync(projectPath('package.json'), 'utf8'));
  expect(engines.node).toBe(releases.map(({ node }) => `^${node}.0`).join(' || '));
});

describe('a machine', () => {
  const debian12 = { platform: 'linux', arch: 'x64', node: '20.20.2', glibc: '2.36' };

  test.each([
    debian12,
    { ...debian12, node: '20.17.0', glibc: '2.28' },
    { ...debian12, arch: 'arm64', node: '22.9.0' },
    { ...debian12, node: '28.0.0' },
  ])('is supported with Node $node, glibc $glibc, $platform $arch', (machine) => {
    expect(judge(machine)).toBeUndefined();
  });

  test.each([
    [{ node: '20.16.9' }, 'Node 20.16.9 is too old', 'Install Node 24, or Node 20.17 or later of 20'],
    [{ node: '22.8.0' }, 'Node 22.8.0 is too old', 'Install Node 24, or Node 22.9 or later of 22'],
    [{ node: '18.20.8' }, 'Node 18.20.8 is too old', 'Install Node 24'],
    [
      { platform: 'freebsd' },
      'there is no build for freebsd, only for Linux with glibc',
      expect.stringContaining('container'),
    ],
    [{ runtime: 'bun' }, 'Bun is not supported', expect.stringContaining('with Node 24')],
    [{ glibc: '2.27' }, 'glibc 2.27 is too old', expect.stringContaining('glibc 2.28 or later')],
    [
      { glibc: undefined },
      'the C library is not glibc (Alpine Linux?)',
      expect.stringContaining('container image'),
    ],
    [{ arch: 'riscv64' }, 'there is no build for riscv64 CPUs', expect.stringContaining('arm64')],
  ])('is unsupported with %j, and the message states the fix', (difference, fault, fix) => {
    expect(judge({ ...debian12, ...difference })).toEqual({ fault, fix });
  });

  test('needs a newer glibc for the packages than for a clone', () => {
    const old = { ...debian12, glibc: '2.30' };
    expect(judge(old, glibcFor('clone'))).toBeUndefined();
    expect(judge(old, glibcFor('package'))?.fault).toBe('glibc 2.30 is too old');
  });

  test('is supported if it runs the tests', () => {
    expect(thisMachine().node).toBe(process.versions.node);
    expect(unmetRequirement()).toBeUndefined();
  });
});

describe('judgeCpu', () => {
  const judge = (arch: NodeJS.Architecture, cpuinfo: string) => judgeCpu('Box', arch, cpuinfo);
  const x64 = (...flags: string[]) =>
    judge('x64', `model name\t: Box\nflags\t\t: fpu ${flags.join(' ')}\nbugs\t:\n`);

  test.each([
    [x64('avx2', 'avx512f', 'avx512_vnni'), 'ok', 'Box with AVX2, AVX-512, VNNI'],
    [x64('avx', 'avx2'), 'ok', 'Box with AVX2; AVX-512 would be faster'],
    [judge('arm64', 'Features\t: fp asimd asimddp\n'), 'ok', 'Box with NEON, dot product'],
    [x64('avx', 'sse4_2'), 'warning', 'Box without AVX2: the models run slowly'],
    // The capabilities of these CPUs are unknown.
    [judge('x64', ''), 'unknown', expect.any(String)],
    [judge('riscv64', 'flags : avx2'), 'unknown', expect.any(String)],
  ])('returns the expected finding: %j', (finding, status, value) => {
    expect(finding).toMatchObject({ status, value });
    if (status === 'warning') expect(finding.fix).toContain('Choose a machine with AVX2');
  });
});

test.each([
  ['libonnxruntime.so.1: cannot open shared object file', 'rm -r node_modules && npm run setup'],
  ['libopencv_core.so.406: cannot open shared object file', 'npm run setup'],
  ["/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found", 'rm -r build/addon && npm run setup'],
  ['The probe process was ended by SIGILL', 'rm -r build/addon && npm run setup'],
])('suggests a fix for %s: %s', (complaint, fix) => {
  expect(addonFix(complaint)).toBe(fix);
});

test('reports a check that throws as a finding, and runs the others', async () => {
  const breaks = () => {
    throw new Error('\n  lacking\n    at here');
  };
  const findings = [];
  for await (const finding of examine({ one: breaks, two: async () => [ok('two', '2')] }))
    findings.push(finding);
  expect(findings).toEqual([fail('one', 'lacking', 'rm -r node_modules && npm run setup'), ok('two', '2')]);
});

test('prints a finding on one line, whatever it quotes', () => {
  const line = describeFinding(fail('settings', 'received "a\n\u001b[2J"', 'do\nthis'), coloursWhen(false));
  expect(line).toBe('fail     settings        received "a\ufffd\ufffd[2J"  → do\ufffdthis');
});

const { privateConfiguration, waitForLock } = await import(projectPath('scripts/lib/debian.mjs'));
const hasApt = spawnSync('apt-config', ['dump']).status === 0;

/** An apt setting that the package apt-file installs. */
const contents = `Acquire::IndexTargets::deb::Contents-deb { MetaKey "$(COMPONENT)/Contents-$(ARCHITECTURE)"; };
`;
const proxies = [
  'Acquire::http::Proxy "http://proxy.example:3128";',
  'Acquire::http::Proxy::mirror.example "DIRECT";',
  'Acquire::https::Proxy-Auto-Detect "/usr/bin/find-proxy";',
];

test.skipIf(!hasApt)(
  "fetches only package indexes with the private apt configuration, through the system's proxies",
  () => {
    const folder = newFolder();
    const system = join(folder, 'system.conf');
    writeFileSync(system, `${contents}${proxies.join('\n')}\nAcquire::Retries "7";\n`);
    vi.stubEnv('APT_CONFIG', system);
    onTestFinished(() => void vi.unstubAllEnvs());
    const env = { ...process.env, APT_CONFIG: privateConfiguration(folder) };
    const dump = execFileSync('apt-config', ['dump'], { env, encoding: 'utf8' }).split('\n');
    expect(dump).toEqual(expect.arrayContaining(proxies));
    expect(dump.filter((line) => /Contents|DEP-11|Retries "7"/.test(line))).toEqual([]);
  },
);

describe('an apt command', () => {
  const held = (file: string) =>
    new Error(`E: Could not get lock ${file}. It is held by process 4242 (unattended-upgr)\nN: Be aware`);
  const soon = { retry_ms: 0 };

  test('is repeated while another program holds a lock, and reports the wait once', async () => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    onTestFinished(() => written.mockRestore());
    const errors = [held('/var/lib/apt/lists/lock'), held('/var/lib/dpkg/lock-frontend')];
    const outcome = await waitForLock(async () => {
      const error = errors.shift();
      if (error !== undefined) throw error;
      return 'installed';
    }, soon);
    expect(outcome).toBe('installed');
    const line = '• waiting for apt: process 4242 (unattended-upgr) holds /var/lib/apt/lists/lock\n';
    expect(written.mock.calls).toEqual([[line]]);
  });

  test.each([
    ['the lock is held longer than the limit', held('/var/lib/dpkg/lock'), { ...soon, limit_ms: -1 }],
    ['it fails for another reason', new Error('E: Unable to locate package nothing'), soon],
  ])('fails when %s', async (_when, error, options) => {
    await expect(waitForLock(() => Promise.reject(error), options)).rejects.toBe(error);
  });
});

const module = pathToFileURL(projectPath('scripts/lib/run.mjs')).href;

/** Returns a program that acquires the lock, and logs that it has the lock and that it ends. */
const holder = (lock: string, log: string) => `
  import { appendFileSync } from 'node:fs';
  import { takeLock } from '${module}';
  await takeLock(${JSON.stringify(lock)}, () => {});
  for (const word of ['has', 'ends']) {
    appendFileSync(${JSON.stringify(log)}, word + ' ' + process.pid + '\\n');
    await new Promise((resolve) => setImmediate(resolve));
  }
  process.exit();`;

test('lets six processes hold the lock of setup one after another', async () => {
  const folder = newFolder();
  const [lock, log] = [join(folder, 'lock'), join(folder, 'log')];
  const program = ['--input-type=module', '--eval', holder(lock, log)];
  const run = () => new Promise((resolve) => execFile(process.execPath, program, resolve));
  const all = Array.from({ length: 6 }, run);
  expect(await Promise.all(all)).toEqual(all.map(() => null));
  expect(readFileSync(log, 'utf8').match(/has (\d+)\nends \1\n/g)).toHaveLength(6);
});

/** Some systems have no binary; test/slow/server/libraries.test.ts tests that case. */
const none = chooseTransport('auto').name === 'node';

describe.skipIf(none)('a custom µWebSockets.js', () => {
  const root = newFolder();

  /** Makes a package of the given version with the native module that works on this machine. */
  function own(version: string, exported = nativeModule()): string {
    const folder = join(root, version);
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ version, main: 'uws.js' }));
    writeFileSync(join(folder, 'uws.js'), `module.exports = ${exported};`);
    return folder;
  }

  function nativeModule(): string {
    return `require(${JSON.stringify(extractedUws(loadUws(undefined).version))})`;
  }

  test.each(['20.51.0', '20.99.1'])('is preferred in version %s', (version) => {
    const { version: taken, failures, App } = loadUws(own(version));
    expect({ taken, failures }).toEqual({ taken: version, failures: [] });
    expect(App).toBeTypeOf('function');
  });

  const other = 'is not 20.51 or a later 20.x';
  test.each<[what: string, version: string, reason: string, exported?: string]>([
    ['an older version', '20.50.9', other],
    ['another major version', '21.0.0', other],
    ['JavaScript alone', '20.67.0', 'fell back to', '{ App() {} }'],
  ])('is skipped with the reason: %s', (_what, version, reason, exported) => {
    const folder = own(version, exported);
    const uws = loadUws(folder);
    expect(uws.version).toBe(loadUws(undefined).version);
    expect(uws.failures[0]).toMatch(new RegExp(`^${folder}: .*${reason}`));
  });

  test('is skipped in one line if it is missing', () => {
    const [reason] = loadUws('/nowhere/uws').failures;
    expect(reason).toBe("/nowhere/uws: Cannot find module '/nowhere/uws'");
  });
});
