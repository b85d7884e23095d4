import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { projectPath } from '../../../src/config/paths.ts';
import { twoPhotos } from '../../server/support/client.ts';
import { Home, TestServer } from '../../server/support/server.ts';
import { pages } from '../../support/doc-commands.ts';
import { newFolder } from '../../support/folder.ts';

/**
 * Checks deploy/facematch.service with systemd, and that the server runs under its filter of system calls.
 */

const unit = projectPath('deploy/facematch.service');
const text = readFileSync(unit, 'utf8');
const valuesOf = (name: string) =>
  [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value!);

const tool = (name: string) => spawnSync(name, ['--version']).error === undefined;
const analyze = (...args: string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8' });
const hasSystemd = tool('systemd-analyze');
if (!hasSystemd) process.stderr.write('The unit file is not checked: systemd-analyze is not installed\n');
const hasStrace = tool('strace');
if (!hasStrace) process.stderr.write('The filter of system calls is not tested: strace is not installed\n');

describe('the unit', () => {
  test('runs the program that setup built, with known settings', () => {
    const [start] = valuesOf('ExecStart');
    const [home] = valuesOf('WorkingDirectory');
    const { scripts } = JSON.parse(readFileSync(projectPath('package.json'), 'utf8'));
    const [command] = scripts.start.match(/node -.*/);
    expect(start).toBe(`/usr/bin/env ${command.replace('dist/', `${home}/dist/`)}`);
    expect(existsSync(projectPath('src/cli/index.ts'))).toBe(true);
    const env = Object.fromEntries(
      valuesOf('Environment').flatMap((line) => line.split(' ').map((pair) => pair.split('='))),
    );
    expect(readConfig(env).keys_file).toBe('/etc/facematch/keys.json');
  });

  test('limits its memory, and accepts connections from this machine only, as documented', () => {
    const limits = ['MemoryMax', 'IPAddressDeny', 'IPAddressAllow'].flatMap(valuesOf);
    expect(limits).toEqual(['80%', 'any', 'localhost']);
    const page = readFileSync(projectPath('docs/deployment.md'), 'utf8');
    expect(/^```ini\n(.*?)^```$/ms.exec(page)![1]).toMatch(/FACEMATCH_HOST=0\.0\.0\.0\nIPAddressAllow=/);
  });

  test('allows more time to stop than the shutdown timeout', () => {
    expect(Number(valuesOf('TimeoutStopSec')[0]) * 1000).toBeGreaterThan(readConfig({}).shutdown_timeout_ms);
  });

  test.skipIf(!hasSystemd)("passes systemd's verification", () => {
    // Checks the output too, because unknown settings do not change the status.
    expect(analyze('verify', unit)).toMatchObject({ status: 0, stderr: '' });
  });

  test.skipIf(!hasSystemd)('has an exposure below 1.5 of 10', () => {
    const { status, stdout } = analyze('security', '--offline=true', '--threshold=15', '--no-pager', unit);
    expect(stdout).toMatch(/exposure level for facematch.service: [01]\.\d/);
    expect(status).toBe(0);
  });
});

const { PATH } = await import(projectPath('test/support/nginx.mjs'));
/** machine.sh needs root, namespaces, and a Node that other users may run. */
const machine = fileURLToPath(new URL('../../server/support/machine.sh', import.meta.url));
const asOther = ['--reuid', '65534', '--clear-groups', process.execPath, '--version'];
const hasMachine =
  spawnSync('unshare', ['--mount', '--net', '--pid', '--fork', 'setpriv', ...asOther]).status === 0;
if (!hasMachine)
  process.stderr.write('The code blocks of docs/deployment.md are not run, because that needs root\n');

const hasLogrotate = spawnSync('logrotate', ['--version'], { env: { PATH } }).status === 0;
if (!hasLogrotate)
  process.stderr.write('Rotation of the audit log is not tested: logrotate is not installed\n');

interface Block {
  heading: string;
  kind: string;
  code: string;
}

/** Returns every block of a page, in order, with its heading. */
function blocksOf(page: string): Block[] {
  let heading = '';
  return [...pages.get(page)!.matchAll(/^#+ (.*)$|^```(\w*)\n((?:.*\n)*?)```$/gm)].flatMap(
    ([, title, kind, code]) => {
      heading = title ?? heading;
      return code === undefined ? [] : [{ heading, kind: kind!, code }];
    },
  );
}

/**
 * Heading of the section that is skipped, because its packages come from a registry. deploy/release/prove.mjs tests it.
 */
const packagesHeading = 'From packages, without a compiler';

const ready =
  'curl -sS --retry 30 --retry-delay 1 --retry-connrefused http://127.0.0.1:9090/readyz >/dev/null';

const photo = 'node_modules/@vladmandic/face-api/demo/sample1.jpg';

/** Returns the shell commands for a code block of the page. */
function typed({ heading, kind, code }: Block): string {
  // Writes the file that `systemctl edit facematch` opens.
  if (kind === 'ini')
    return `mkdir $etc/facematch.service.d
cat >$etc/facematch.service.d/override.conf <<'INI'\n${code}INI\nsudo systemctl restart facematch\n${ready}\n`;
  // The reader provides the labelled pairs.
  if (code.includes('PAIRS.tsv'))
    return `mkdir DIR && cp ${photo} DIR/a.jpg && printf 'image1\\timage2\\tsame\\na.jpg\\ta.jpg\\t1\\n' >PAIRS.tsv\n${code}`;
  if (heading !== 'From a clone') return code;
  // The last line runs until it is killed.
  return `${code.replace(/serve\n$/, 'serve &\n')}${ready}\nkill $!\nwait $!\n`;
}

const matched = `${ready}
curl -sS -H "x-api-key: $KEY" -F image1=@${photo} -F image2=@${photo} http://127.0.0.1:8080/API/v1.0/face/match/upload >>answers
echo >>answers`;

/** Waits for a condition, because log lines are written after the response, and signals are handled later. */
const until = (condition: string) => `timeout 10 bash -c 'until ${condition}; do sleep 0.02; done'`;

test.skipIf(!hasMachine || !hasLogrotate)(
  'runs the blocks of docs/deployment.md in order, and rotates the audit log of docs/privacy.md under the unit',
  { timeout: 240_000 },
  () => {
    const folder = newFolder();
    const blocks = blocksOf('docs/deployment.md').filter(({ heading }) => heading !== packagesHeading);
    expect(blocks.length).toBeGreaterThan(7);
    const rotate = blocksOf('docs/privacy.md').find(({ code }) => code.includes('postrotate'))!.code;
    // A documented command fails if the server returns an error response.
    const script = `curl() { command curl --fail-with-body "$@"; }
${blocks.map(typed).join('')}
cd $folder/clone
${matched}
${until('[ -s /var/log/facematch/audit.jsonl ]')}
cat >/etc/logrotate.d/facematch <<'ROTATE'\n${rotate}ROTATE
logrotate --force --state $folder/rotated /etc/logrotate.d/facematch
${until('[ -e /var/log/facematch/audit.jsonl ]')}
${matched}
sudo systemctl restart facematch
${matched}
${until('[ "$(wc -l </var/log/facematch/audit.jsonl)" -ge 2 ]')}
echo
stat --format 'file %U %a %n' /var/log/facematch /var/log/facematch/*
sed 's/^/old /' /var/log/facematch/audit.jsonl.1
sed 's/^/new /' /var/log/facematch/audit.jsonl
sed 's/^/answer /' answers
`;
    const file = join(newFolder(), 'commands');
    writeFileSync(file, script);
    const options = { encoding: 'utf8', env: { PATH } } as const;
    const { status, stdout, stderr } = spawnSync('bash', [machine, projectPath('.'), folder, file], options);
    expect(status, `${stdout}\n${stderr}`).toBe(0);
    const linesWith = (word: string) =>
      [...stdout.matchAll(new RegExp(`^${word} (.+)$`, 'gm'))].map(([, line]) => line!);
    const idsOf = (word: string) => linesWith(word).map((line) => JSON.parse(line).request_id);
    const [first, ...later] = idsOf('answer');
    expect(later).toHaveLength(2);
    // The first decision is in the file that was moved; later ones are in the new file, also after a restart.
    expect([idsOf('old'), idsOf('new')]).toEqual([[first], later]);
    expect(linesWith('file')).toEqual([
      'facematch 700 /var/log/facematch',
      'facematch 600 /var/log/facematch/audit.jsonl',
      'facematch 600 /var/log/facematch/audit.jsonl.1',
    ]);
  },
);

/** Returns the system calls of a group, including those of its subgroups. */
function callsOf(group: string): string[] {
  const { stdout } = analyze('syscall-filter', group);
  const names = stdout.match(/(?<=^ +)@?[a-z_][\w-]*$/gm) ?? [];
  return names.flatMap((name) => (name.startsWith('@') ? callsOf(name) : [name]));
}

/**
 * Returns the system calls that SystemCallFilter excludes. Its first line allows some; further lines add some or,
 * with a tilde, remove some.
 */
function deniedCalls(): string[] {
  const allowed = new Set<string>();
  for (const line of valuesOf('SystemCallFilter'))
    for (const word of line.replace(/^~/, '').split(' '))
      for (const call of word.startsWith('@') ? callsOf(word) : [word])
        if (line.startsWith('~')) allowed.delete(call);
        else allowed.add(call);
  expect(allowed.size).toBeGreaterThan(150);
  return callsOf('@known').filter((call) => !allowed.has(call) && !beforehand.includes(call));
}

/** systemd uses these calls to start the program, before the filter applies to it. */
const beforehand = ['execve'];

test.skipIf(!hasSystemd || !hasStrace)(
  'starts, matches, reads changed keys, serves metrics and ends under its filter of system calls',
  async () => {
    const home = new Home();
    const trace = join(newFolder(), 'calls');
    const denied = deniedCalls()
      .map((call) => `?${call}`)
      .join();
    // Emulates SystemCallErrorNumber: the kernel does not run the call, and the caller gets EPERM.
    const inject = ['-e', `trace=${denied}`, '-e', `inject=${denied}:error=EPERM`];
    const filter = ['strace', '-D', '-f', '-qq', '--seccomp-bpf', '-o', trace, ...inject];
    const server = await TestServer.start({ under: filter, env: { FACEMATCH_WORKERS: '2' } }, home);
    const responses = await Promise.all(Array.from({ length: 8 }, () => server.match(twoPhotos())));
    expect(responses.map(({ status }) => status)).toEqual(Array(8).fill(200));
    const key = home.key();
    await server.line(server.stderr, /the key file was reloaded/);
    expect((await server.match(twoPhotos(), { key })).status).toBe(200);
    expect(await server.metrics()).toContain('process_resident_memory_bytes');
    server.child.kill('SIGTERM');
    expect(await server.ended).toEqual({ code: 0, signal: null });
    const rejected = readFileSync(trace, 'utf8').matchAll(/ (\w+)\(.*\(INJECTED\)/g);
    expect([...new Set([...rejected].map(([, call]) => call))]).toEqual([]);
  },
);
