import { describe, expect, test } from 'vitest';
import {
  describeFinding,
  examine,
  ok,
  unknown,
  verdictOf,
  warning,
  wrong,
} from '../../src/cli/doctor/finding.ts';
import { addonCure, judgeCpu } from '../../src/cli/doctor/machine.ts';
import { coloursWhen } from '../../src/cli/terminal.ts';

describe('the processor', () => {
  const judge = (arch: NodeJS.Architecture, cpuinfo: string) => judgeCpu('Box', arch, cpuinfo);
  const x64 = (...flags: string[]) =>
    judge('x64', `model name\t: Box\nflags\t\t: fpu ${flags.join(' ')}\nbugs\t:\n`);

  test.each([
    [x64('avx2', 'avx512f', 'avx512_vnni'), 'Box with AVX2, AVX-512, VNNI'],
    [x64('avx', 'avx2'), 'Box with AVX2; AVX-512 would be faster'],
    [judge('arm64', 'Features\t: fp asimd asimddp\n'), 'Box with NEON, dot product'],
  ])('is well with %j', (finding, value) => {
    expect(finding).toMatchObject({ status: 'ok', value });
  });

  test('without AVX2 is slow, and the cure is named', () => {
    expect(x64('avx', 'sse4_2')).toMatchObject({
      status: 'warning',
      value: 'Box without AVX2: the nets run slowly',
      cure: expect.stringContaining('Choose a machine with AVX2'),
    });
  });

  test('is not judged where nothing tells what it can do', () => {
    expect(judge('x64', '').status).toBe('unknown');
    expect(judge('riscv64', 'flags : avx2').status).toBe('unknown');
  });
});

test.each([
  ['libonnxruntime.so.1: cannot open shared object file: No such file or directory', 'npm ci'],
  ['libopencv_core.so.406: cannot open shared object file: No such file or directory', 'npm run setup'],
  ["/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found", 'rm -r build/addon && npm run setup'],
  ['The probe process was ended by SIGILL', 'rm -r build/addon && npm run setup'],
])('%s: the cure is %s', (complaint, cure) => {
  expect(addonCure(complaint)).toBe(cure);
});

test.each([
  { findings: [ok('a', '1'), unknown('b', '?')], strict: true, verdict: true },
  { findings: [ok('a', '1'), warning('b', '2', 'do')], strict: false, verdict: true },
  { findings: [ok('a', '1'), warning('b', '2', 'do')], strict: true, verdict: false },
  { findings: [wrong('a', '1', 'do'), ok('b', '2')], strict: false, verdict: false },
])('the verdict on $findings is $verdict (strict: $strict)', ({ findings, strict, verdict }) => {
  expect(verdictOf(findings, strict).ok).toBe(verdict);
});

test('a check that breaks is a finding of its own, and the others go on', async () => {
  const breaks = () => {
    throw new Error('\n  lacking\n    at here');
  };
  const findings = [];
  for await (const finding of examine({ one: breaks, two: async () => [ok('two', '2')] }))
    findings.push(finding);
  expect(findings).toEqual([wrong('one', 'lacking', 'npm ci && npm run setup'), ok('two', '2')]);
});

test('a line is one line, whatever it quotes', () => {
  const line = describeFinding(wrong('settings', 'received "a\n\u001b[2J"', 'do\nthis'), coloursWhen(false));
  expect(line).toBe('wrong    settings        received "a\ufffd\ufffd[2J"  → do\ufffdthis');
});
