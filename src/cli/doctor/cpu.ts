import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { surveySettings } from '../../config.ts';
import { cpuLimit } from '../../cpus.ts';
import { type Finding, ok, unknown, warning } from './finding.ts';

interface Feature {
  name: string;
  /** The word for it in /proc/cpuinfo. */
  flag: string;
}

/** What matters to nets of 32-bit numbers comes first; the rest is named where it is. */
const features: Readonly<Partial<Record<NodeJS.Architecture, readonly Feature[]>>> = {
  x64: [
    { name: 'AVX2', flag: 'avx2' },
    { name: 'AVX-512', flag: 'avx512f' },
    { name: 'VNNI', flag: 'avx512_vnni' },
    { name: 'AVX-VNNI', flag: 'avx_vnni' },
  ],
  arm64: [
    { name: 'NEON', flag: 'asimd' },
    { name: 'dot product', flag: 'asimddp' },
    { name: 'I8MM', flag: 'i8mm' },
  ],
};

/** The first that is there says what the whole means for speed. VNNI, dot product and I8MM serve 8-bit nets alone. */
const meanings: readonly (readonly [name: string, meaning: string])[] = [
  ['AVX-512', "ONNX Runtime's widest kernels for 32-bit nets, which the packs' are"],
  ['AVX2', "ONNX Runtime's 256-bit kernels; AVX-512 would be quicker"],
  ['NEON', "ONNX Runtime's kernels for this processor"],
];

/** The instructions that the speed of the nets depends on. */
export async function cpu(): Promise<Finding[]> {
  const model = cpus()[0]?.model.trim() || 'unnamed processor';
  return [judgeCpu(model, process.arch, flagsOf(readCpuInfo()))];
}

/** `flags` as /proc/cpuinfo names them; undefined where nothing does. */
export function judgeCpu(
  model: string,
  arch: NodeJS.Architecture,
  flags: ReadonlySet<string> | undefined,
): Finding {
  const known = features[arch];
  if (known === undefined || flags === undefined) {
    return unknown('CPU', `${model}, ${arch}: nothing tells what it can do`);
  }
  const found = known.filter(({ flag }) => flags.has(flag)).map(({ name }) => name);
  const meaning = meanings.find(([name]) => found.includes(name))?.[1];
  if (meaning !== undefined) return ok('CPU', `${model} with ${found.join(', ')}: ${meaning}`);
  const lacking = known[0]?.name;
  return warning(
    'CPU',
    `${model} without ${lacking}: the nets run slowly`,
    `Choose a machine with ${lacking}; a virtual one may only need its host's CPU model passed through`,
  );
}

/** Of the first processor; undefined when the text names none. */
export function flagsOf(cpuinfo: string): ReadonlySet<string> | undefined {
  const [, words] = /^(?:flags|Features)\s*:\s*(.+)$/m.exec(cpuinfo) ?? [];
  return words === undefined ? undefined : new Set(words.trim().split(/\s+/));
}

function readCpuInfo(): string {
  try {
    return readFileSync('/proc/cpuinfo', 'utf8');
  } catch {
    return '';
  }
}

export async function workers(): Promise<Finding[]> {
  const { config } = surveySettings();
  const [usable, all] = [cpuLimit(), cpus().length];
  const machine = usable === all ? '' : `, of the machine's ${all}`;
  const value = `${count(config.workers, 'worker')} on ${count(usable, 'CPU')}${machine}; a queue of ${config.queue}`;
  if (config.workers <= usable) return [ok('workers', value)];
  return [
    warning(
      'workers',
      `${value}: they will wait for each other`,
      'Unset FACEMATCH_WORKERS: one for each CPU',
    ),
  ];
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
