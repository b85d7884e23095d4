import { describe, expect, test } from 'vitest';
import { flagsOf, judgeCpu } from '../../src/cli/doctor/cpu.ts';
import { verdictOf } from '../../src/cli/doctor/examine.ts';
import { ok, unknown, warning, wrong } from '../../src/cli/doctor/finding.ts';
import { addonCure } from '../../src/cli/doctor/libraries.ts';
import { satisfies } from '../../src/cli/doctor/platform.ts';
import { describeFinding } from '../../src/cli/doctor/text.ts';
import { coloursWhen } from '../../src/cli/terminal.ts';

describe('a version of Node', () => {
  const range = '^20.17.0 || >=22.9.0';

  test.each([
    '20.17.0',
    '20.17.1',
    '20.20.2',
    '22.9.0',
    '22.10.0',
    '23.0.0',
    '24.1.0-nightly',
  ])('%s will do', (version) => {
    expect(satisfies(version, range)).toBe(true);
  });

  test.each(['18.20.4', '20.16.9', '21.7.3', '22.8.9', '2.20.0'])('%s will not', (version) => {
    expect(satisfies(version, range)).toBe(false);
  });

  test('is not judged by a range that is not understood', () => {
    expect(() => satisfies('20.17.0', '~20.17.0')).toThrow('is not understood');
  });
});

describe('the processor', () => {
  const judge = (arch: NodeJS.Architecture, cpuinfo: string) => judgeCpu('Box', arch, flagsOf(cpuinfo));
  const x64 = (...flags: string[]) =>
    judge('x64', `model name\t: Box\nflags\t\t: fpu ${flags.join(' ')}\nbugs\t:\n`);

  test.each([
    [x64('avx2', 'avx512f', 'avx512_vnni'), 'Box with AVX2, AVX-512, VNNI: '],
    [x64('avx2', 'avx_vnni'), 'Box with AVX2, AVX-VNNI: '],
    [x64('avx', 'avx2'), 'Box with AVX2: '],
    [judge('arm64', 'Features\t: fp asimd asimddp\n'), 'Box with NEON, dot product: '],
  ])('is well with %j', (finding, value) => {
    expect(finding).toMatchObject({ status: 'ok', value: expect.stringContaining(value) });
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
  ['facematch.node: invalid ELF header', 'rm -r build/addon && npm run setup'],
  ['The process that tried it was ended by SIGILL', 'rm -r build/addon && npm run setup'],
])('%s: the cure is %s', (complaint, cure) => {
  expect(addonCure(complaint)).toBe(cure);
});

describe('the verdict', () => {
  test.each([
    { findings: [], strict: false, verdict: true },
    { findings: [ok('a', '1'), unknown('b', '?')], strict: true, verdict: true },
    { findings: [ok('a', '1'), warning('b', '2', 'do')], strict: false, verdict: true },
    { findings: [ok('a', '1'), warning('b', '2', 'do')], strict: true, verdict: false },
    { findings: [wrong('a', '1', 'do'), ok('b', '2')], strict: false, verdict: false },
  ])('on $findings is $verdict (strict: $strict)', ({ findings, strict, verdict }) => {
    expect(verdictOf(findings, strict).ok).toBe(verdict);
  });
});

test('a line is one line, whatever it quotes', () => {
  const line = describeFinding(wrong('settings', 'received "a\n\u001b[2J"', 'do\nthis'), coloursWhen(false));
  expect(line).toBe('wrong    settings        received "a\ufffd\ufffd[2J"  → do\ufffdthis');
});
