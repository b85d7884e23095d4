import { CommanderError } from 'commander';
import { silenceOnnxRuntime } from '../config.ts';
import { exitCodes } from './help.ts';
import { buildProgram } from './program.ts';
import { coloursFor } from './terminal.ts';

silenceOnnxRuntime();

// A reader that closed its end, such as `head`, has what it wanted; to the server it is no reason to die either.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

process.exitCode = await run(process.argv);

async function run(argv: readonly string[]): Promise<number> {
  try {
    await buildProgram().parseAsync(argv);
    return Number(process.exitCode ?? exitCodes.success);
  } catch (error) {
    // Commander has already printed its message, and gives help that was asked for as an error with exit code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.success : exitCodes.usage;
    const { red } = coloursFor('stderr');
    console.error(`${red('error:')} ${error instanceof Error ? error.message : String(error)}`);
    return exitCodes.failure;
  }
}
