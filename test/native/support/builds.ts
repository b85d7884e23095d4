import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { projectPath } from '../../../src/config/paths.ts';

/** An addon to run in a child process, with the environment that it needs. */
export interface Build {
  name: string;
  env: Record<string, string>;
}

const released: Build = {
  name: 'the addon',
  env: {
    FACEMATCH_ADDON: process.env.FACEMATCH_ADDON ?? projectPath('build/addon/Release/facematch.node'),
  },
};

const sanitized = projectPath('build/asan/Release/facematch.node');

/** AddressSanitizer must be the first library of the process: Node itself is not built with it. */
function asan(): Build[] {
  if (!existsSync(sanitized)) {
    process.stderr.write('Skipped the addon under AddressSanitizer: build/asan is not built\n');
    return [];
  }
  const library = execFileSync('gcc', ['-print-file-name=libasan.so'], { encoding: 'utf8' }).trim();
  return [
    {
      name: 'the addon under AddressSanitizer',
      env: {
        FACEMATCH_ADDON: sanitized,
        LD_PRELOAD: library,
        // Node frees little at exit; the C++ tests detect leaks of the core.
        ASAN_OPTIONS: 'detect_leaks=0',
        UBSAN_OPTIONS: 'print_stacktrace=1',
      },
    },
  ];
}

export const sanitizedBuilds: Build[] = asan();
export const builds: Build[] = [released, ...sanitizedBuilds];
