import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { projectPath } from '../paths.ts';
import { registerCalibrate } from './calibrate.ts';
import { registerDemo } from './demo.ts';
import { registerDetect } from './detect.ts';
import { registerEval } from './eval.ts';
import { registerKeys } from './keys.ts';
import { registerMatch } from './match.ts';
import { registerServe } from './serve.ts';
import { coloursFor } from './terminal.ts';

/** In the order of `--help`. Each file loads what its command needs when the command runs, so that help is quick. */
const commands = [
  registerServe,
  registerDemo,
  registerMatch,
  registerDetect,
  registerKeys,
  registerEval,
  registerCalibrate,
];

/** 0 is success. */
const exitCodes = { failure: 1, usage: 2 } as const;

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
    return Number(process.exitCode ?? 0);
  } catch (error) {
    // Commander has already printed its message, and gives help that was asked for as an error with exit code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage;
    const { red } = coloursFor(process.stderr);
    console.error(`${red('error:')} ${error instanceof Error ? error.message : String(error)}`);
    return exitCodes.failure;
  }
}

function buildProgram(): Command {
  const { version } = JSON.parse(readFileSync(projectPath('package.json'), 'utf8')) as { version: string };
  // Before the commands: they inherit these settings when they are made.
  const program = new Command('facematch')
    .description('Do these two photos show the same person?')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(add --help for the options and examples)')
    .addHelpText(
      'after',
      `
Examples:
  facematch demo                          see it work on two photos that are here already
  facematch keys create --name my-app     make a key; the server needs at least one
  facematch serve                         answer over HTTP until stopped
  facematch match alice.jpg bob.png       compare two files without a server
  facematch detect group.jpg              find the faces of a picture

Exit codes: 0 success, 1 failure, 2 wrong usage.`,
    );
  for (const register of commands) register(program);
  return program;
}
