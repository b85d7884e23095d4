import { CommanderError } from 'commander';
import { cureOf } from '../config/machine.ts';
import { exitCodes } from './help.ts';
import { openLab } from './laboratory.ts';
import { buildProgram } from './program.ts';
import { coloursFor } from './terminal.ts';

// For ONNX Runtime, and before other threads start: they may read the environment.
process.env.ORT_DISABLE_TELEMETRY ??= '1';

// Ignore EPIPE: a reader such as `head` may close the pipe early.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/** Commands that have nothing of the laboratory. */
const withoutLab = new Set(['serve', 'demo', 'match', 'detect', 'embed', 'keys', 'config', 'doctor']);

/** Runs a command line; resolves to the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  try {
    // The others do not wait for what they never run.
    const lab = withoutLab.has(argv[2] ?? '') ? undefined : await openLab();
    await buildProgram(lab).parseAsync(argv);
    return Number(process.exitCode ?? exitCodes.success);
  } catch (error) {
    // Commander has already printed its message. Requested help is an error with exit code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.success : exitCodes.usage;
    const { red } = coloursFor('stderr');
    const message = error instanceof Error ? error.message : String(error);
    console.error([`${red('error:')} ${message}`, cureOf(error)].filter(Boolean).join('. '));
    return exitCodes.failure;
  }
}
