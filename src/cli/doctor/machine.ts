import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { surveySettings, unknownVariables, uwsKeepAlive_s, variableOf } from '../../config/config.ts';
import { installation, repair } from '../../config/installation.mjs';
import { cpuLimit, moreFiles } from '../../config/machine.ts';
import { addonFile, projectPath, uwsFolder } from '../../config/paths.ts';
import { connectionsThatFit, fewConnections } from '../../server/listeners.ts';
import { glibcFor, judge, thisMachine } from '../system-requirements.mjs';
import { count } from '../terminal.ts';
import { type Checks, type Finding, fail, firstLine, ok, unknown, warning } from './finding.ts';
import type { ProbeResult, Probes } from './probe.ts';

/** Checks of the machine, the packages and the settings. */
export const machineChecks: Checks = {
  /** Node's version, the CPU and the C library together decide which binaries run. */
  machine() {
    const machine = thisMachine();
    const { platform, arch, node, glibc } = machine;
    const unfit = judge(machine, glibcFor(installation().kind));
    if (unfit !== undefined) return [fail('machine', unfit.fault, unfit.fix)];
    return [ok('machine', `Node ${node} on ${platform} ${arch}, glibc ${glibc}`)];
  },

  settings() {
    const { faults, sources } = surveySettings();
    const page = 'See docs/configuration.md';
    const unused = unknownVariables().map((name) => `${name} is not a setting and is ignored`);
    if (faults.length + unused.length === 0) {
      const set = Object.entries(sources).flatMap(([name, from]) =>
        from === 'default' ? [] : variableOf(name),
      );
      return [ok('settings', set.length === 0 ? 'all defaults' : `valid; set: ${set.join(', ')}`)];
    }
    return [
      ...faults.map((fault) => fail('settings', fault, page)),
      ...unused.map((what) => warning('settings', what, page)),
    ];
  },

  /** Checks that all dependencies are installed in the versions of package.json. */
  'npm packages'() {
    const versions = Object.entries(packageJson(projectPath('.')).dependencies).map(([name, spec]) => ({
      name,
      // An alias is `npm:NAME@VERSION`.
      wanted: spec.slice(spec.lastIndexOf('@') + 1),
      found: installedVersion(name),
    }));
    const absent = versions.filter(({ found }) => found === undefined).map(({ name }) => name);
    if (absent.length > 0) return [fail('npm packages', `missing: ${absent.join(', ')}`, repair('packages'))];
    const others = versions
      .filter(({ wanted, found }) => wanted !== found)
      .map(({ name, wanted, found }) => `${name} ${found} instead of ${wanted}`);
    if (others.length > 0) return [warning('npm packages', others.join(', '), repair('packages'))];
    const value = `all ${versions.length} installed, in the versions of package.json`;
    return [ok('npm packages', value)];
  },

  /** Checks which HTTP server will be used. */
  async HTTP() {
    const { http, keep_alive_s } = surveySettings().config;
    if (http === 'node') return [ok('HTTP', 'node:http (FACEMATCH_HTTP)')];
    const own = uwsFolder();
    const correct = 'Correct or unset FACEMATCH_UWS';
    try {
      const { version, failures } = await probe('uws');
      const value = `µWebSockets.js ${version}, its native binary`;
      if (keep_alive_s !== uwsKeepAlive_s) {
        const fix = 'Unset FACEMATCH_KEEP_ALIVE_S, or set FACEMATCH_HTTP=node';
        return [
          fail('HTTP', `${value}, which supports a keep-alive timeout of ${uwsKeepAlive_s} s only`, fix),
        ];
      }
      if (own === undefined) return [ok('HTTP', value)];
      const [reason] = failures;
      if (reason === undefined) return [ok('HTTP', `${value}, from ${own} (FACEMATCH_UWS)`)];
      return [warning('HTTP', `${value}, instead of ${reason}`, correct)];
    } catch (error) {
      const [, ...reasons] = (error as Error).message.split('\n');
      const fault = `µWebSockets.js does not load: ${reasons.join('; ') || firstLine(error)}`;
      if (http === 'uws') return [fail('HTTP', fault, 'Set FACEMATCH_HTTP=auto')];
      const fix =
        'For µWebSockets.js see docs/uws-lifecycle.md; set FACEMATCH_HTTP=node to silence this warning';
      return [warning('HTTP', `node:http, because ${fault}`, own === undefined ? fix : correct)];
    }
  },

  /** Checks the addon and the libraries that it loads. Their versions are read from the addon. */
  async 'native addon'() {
    const file = addonFile();
    try {
      const { versions, runtime } = await probe('addon');
      const { onnxruntime, opencv, ...decoders } = versions;
      const codecs = Object.entries(decoders).map(([name, version]) => `${name} ${version}`);
      const [used, available] = [runtime.providers.join(', '), runtime.available.join(', ')];
      return [
        ok('native addon', `loads${file === undefined ? '' : ` from ${file} (FACEMATCH_ADDON)`}`),
        ok('ONNX Runtime', `${onnxruntime}; in use: ${used}; available: ${available}`),
        ok('OpenCV', `${opencv}; ${codecs.join(', ')}`),
      ];
    } catch (error) {
      const complaint = firstLine(error);
      const own = file === undefined ? addonFix(complaint) : 'Correct or unset FACEMATCH_ADDON';
      const notKnown = 'unknown, because the native addon did not load';
      return [
        fail('native addon', complaint, settingFix(complaint) ?? own),
        unknown('ONNX Runtime', notKnown),
        unknown('OpenCV', notKnown),
      ];
    }
  },

  /** Checks the CPU instructions that make the models fast. */
  CPU() {
    const model = cpus()[0]?.model.trim() || 'unnamed processor';
    const text = process.platform === 'linux' ? readFileSync('/proc/cpuinfo', 'utf8') : '';
    return [judgeCpu(model, process.arch, text)];
  },

  workers() {
    const { config } = surveySettings();
    const [usable, all] = [cpuLimit(), cpus().length];
    const machine = usable === all ? '' : `, of the machine's ${all}`;
    const value = `${count(config.workers, 'worker')} on ${count(usable, 'CPU')}${machine}; a queue of ${config.queue_capacity}`;
    if (config.workers <= usable) return [ok('workers', value)];
    const fix = 'Unset FACEMATCH_WORKERS to use one worker per CPU';
    return [warning('workers', `${value}: more workers than CPUs`, fix)];
  },

  /** Checks the limit of open files, because each connection uses one file descriptor. */
  'open files'() {
    const fitting = connectionsThatFit(surveySettings().config.workers);
    if (fitting >= fewConnections) return [ok('open files', 'the limit is high enough')];
    const value = `the limit leaves room for only ${Math.max(0, fitting)} connections`;
    return [(fitting < 1 ? fail : warning)('open files', value, moreFiles)];
  },
};

/** Reads the package.json of a folder. */
function packageJson(folder: string) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    version: string;
    dependencies: Record<string, string>;
  };
}

/**
 * Returns undefined if the package is missing. An installation from npm may have its dependencies in the parent's
 * node_modules, not below this package.
 */
function installedVersion(name: string): string | undefined {
  const folders = createRequire(projectPath('package.json')).resolve.paths(name) ?? [];
  const found = folders.find((folder) => existsSync(join(folder, name, 'package.json')));
  return found && packageJson(join(found, name)).version;
}

/** Returns the fix for an error that begins with the name of its setting; undefined for any other. */
export function settingFix(complaint: string): string | undefined {
  const [, variable] = /^(FACEMATCH_\w+): /.exec(complaint) ?? [];
  return variable && `Correct or unset ${variable}; see docs/packs.md`;
}

/** Maps an error message of the dynamic linker to its fix. */
export function addonFix(complaint: string): string {
  if (complaint.includes('libonnxruntime')) return repair('packages');
  // These errors mean that the addon was built for another system or CPU, or is incomplete.
  const foreign = /GLIBC|ELF|too short|undefined symbol|was ended by SIG/.test(complaint);
  return repair(foreign ? 'foreign addon' : 'addon');
}

/**
 * Instruction sets by architecture, with their flags in /proc/cpuinfo. Models run slowly without the first
 * instruction set of a row.
 */
const instructions: Partial<Record<NodeJS.Architecture, Record<string, string>>> = {
  x64: { AVX2: 'avx2', 'AVX-512': 'avx512f', VNNI: 'avx512_vnni', 'AVX-VNNI': 'avx_vnni' },
  arm64: { NEON: 'asimd', 'dot product': 'asimddp', I8MM: 'i8mm' },
};

/** Checks the first CPU. `cpuinfo`: text of /proc/cpuinfo; empty if that file does not exist. */
export function judgeCpu(model: string, arch: NodeJS.Architecture, cpuinfo: string): Finding {
  const known = instructions[arch];
  const [, words] = /^(?:flags|Features)\s*:\s*(.+)$/m.exec(cpuinfo) ?? [];
  if (known === undefined || words === undefined) {
    return unknown('CPU', `${model}, ${arch}: its instruction sets are unknown`);
  }
  const flags = new Set(words.trim().split(/\s+/));
  const names = Object.keys(known);
  const found = names.filter((name) => flags.has(known[name]!));
  const needed = names[0]!;
  if (found.includes(needed)) {
    const quicker = needed === 'AVX2' && !found.includes('AVX-512') ? '; AVX-512 would be faster' : '';
    return ok('CPU', `${model} with ${found.join(', ')}${quicker}`);
  }
  const fix = `Choose a machine with ${needed}; for a virtual machine, pass the host's CPU model through`;
  return warning('CPU', `${model} without ${needed}: the models run slowly`, fix);
}

const probeLimit_ms = 60_000;

/**
 * Runs a probe of probe.ts in a child process, because native code may crash the process. Rejects with the error
 * of the probe or, after a crash, with the exit code or signal and the first line of standard error.
 */
export async function probe<Name extends keyof Probes>(name: Name, argument = ''): Promise<Probes[Name]> {
  const file = fileURLToPath(new URL('./probe.js', import.meta.url));
  const child = fork(file, [name, argument], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    timeout: probeLimit_ms,
    killSignal: 'SIGKILL',
  });
  let result: ProbeResult | undefined;
  let complaints = '';
  child.once('message', (message) => {
    result = message as ProbeResult;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  if (result === undefined) {
    const end = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
    const [complaint = ''] = complaints.trim().split('\n');
    throw new Error(`The probe process ${end}${complaint && `: ${complaint}`}`);
  }
  if ('error' in result) throw new Error(result.error);
  return result.value as Probes[Name];
}
