import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { projectPath } from '../../../src/config/paths.ts';
import { packDirectory } from '../../../src/engine/manifest.ts';

export interface ExitResult {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/**
 * Runs one of the programs of this folder until it exits. It gets SIGKILL after `timeout_ms`, and `kill` as soon
 * as it has written anything.
 */
export async function runChild(
  build: Build,
  program: string,
  args: string[],
  {
    kill,
    flags = [],
    timeout_ms = 240_000,
  }: { kill?: NodeJS.Signals; flags?: string[]; timeout_ms?: number } = {},
): Promise<ExitResult> {
  const file = fileURLToPath(new URL(program, import.meta.url));
  const child = spawn(process.execPath, [...flags, file, ...args], {
    env: { ...process.env, ...build.env, FACEMATCH_PACK_DIRECTORY: packDirectory('default') },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeout_ms,
    killSignal: 'SIGKILL',
  });
  if (kill) child.stdout.once('data', () => child.kill(kill));
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, signal, stdout, stderr };
}

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

/** AddressSanitizer must be the process's first library, because Node itself is not built with it. */
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
        // Leaks are not reported, because Node frees little at exit; the C++ tests detect leaks of the core.
        ASAN_OPTIONS: 'detect_leaks=0',
        UBSAN_OPTIONS: 'print_stacktrace=1',
      },
    },
  ];
}

export const sanitizedBuilds: Build[] = asan();
export const builds: Build[] = [released, ...sanitizedBuilds];
