import { Command, CommanderError } from 'commander';
import { limitFix } from '../config/machine.ts';
import { version } from '../config/paths.ts';
import { registerConfig } from './config.ts';
import { registerDemo } from './demo.ts';
import { registerDetect, registerEmbed } from './detect.ts';
import { registerDoctor } from './doctor/index.ts';
import { addHelp, exitCodes, exitCodeTexts } from './help.ts';
import { registerKeys } from './keys.ts';
import { type LabCommands, labCommand, openLab } from './laboratory.ts';
import { registerMatch } from './match.ts';
import { registerPacks } from './packs/index.ts';
import { coloursFor } from './terminal.ts';

/**
 * Commands in the order of `--help`. Each file imports its dependencies only when the command runs, so that
 * help is fast.
 */
const commands: readonly ((program: Command, lab: LabCommands | undefined) => void)[] = [
  registerServe,
  registerDemo,
  registerMatch,
  registerDetect,
  registerEmbed,
  registerKeys,
  labCommand('eval'),
  labCommand('eval-liveness'),
  labCommand('calibrate'),
  registerPacks,
  registerConfig,
  registerDoctor,
];

/** Defines all commands, for running, help and docs. `lab`: the commands of the laboratory, if it is installed. */
export function buildProgram(lab: LabCommands | undefined): Command {
  // Set before the commands are created, because they inherit these settings.
  const program = new Command('facematch')
    .description('Do these two photos show the same person?')
    .version(version())
    .exitOverride()
    .showHelpAfterError('(run with --help for options and examples)')
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^error:/, coloursFor('stderr').red('error:'))),
    });
  for (const register of commands) register(program, lab);
  const codes = exitCodeTexts.map(([code, meaning]) => `${code} ${meaning}`).join(', ');
  return addHelp(program, {
    notes: `Exit codes: ${codes}. Results go to standard output, messages to standard error.`,
    examples: [
      'facematch doctor                        # check the installation',
      'facematch demo                          # compare two sample photos',
      'facematch keys create --name my-app     # create an API key; the server needs at least one',
      'facematch serve                         # start the HTTP server',
      'facematch match alice.jpg bob.png       # compare two files without a server',
      'facematch detect group.jpg              # detect the faces in an image',
    ],
  });
}

function registerServe(program: Command): void {
  const command = program
    .command('serve')
    .description('start the HTTP server')
    .action(async () => {
      const { unmetRequirement } = await import('./system-requirements.mjs');
      const { installation } = await import('../config/installation.mjs');
      const unfit = unmetRequirement(installation().kind);
      if (unfit !== undefined) throw new Error(unfit);
      const { main } = await import('../main.ts');
      await main();
    });
  addHelp(command, {
    notes: `Settings come from the environment or a file (facematch config lists all). The most common:
  FACEMATCH_HOST, FACEMATCH_PORT   address and port (127.0.0.1, 8080)
  FACEMATCH_ADMIN_PORT             health, readiness and metrics (9090)
  FACEMATCH_KEYS_FILE              API keys (./keys.json)
  FACEMATCH_WORKERS                worker threads (CPU quota)
  FACEMATCH_PACK                   model pack (default)
  FACEMATCH_TLS_CERT, …_TLS_KEY    PEM files, for HTTPS
  FACEMATCH_CONFIG                 JSON file with settings

The log goes to standard error, one JSON object per line; the URL is printed to standard output.
SIGTERM or SIGINT lets in-flight requests finish. A second signal, at least 1 s later, ends the process at once.`,
    examples: ['facematch serve', 'FACEMATCH_HOST=0.0.0.0 FACEMATCH_WORKERS=4 facematch serve'],
  });
}

/** Commands that never use the laboratory. */
const withoutLab = new Set(['serve', 'demo', 'match', 'detect', 'embed', 'keys', 'config', 'doctor']);

/** Runs a command line; resolves to the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  // ONNX Runtime reads this variable, so it is set before other threads start.
  process.env.ORT_DISABLE_TELEMETRY ??= '1';
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // A reader such as `head` may close the pipe early.
      if (error.code !== 'EPIPE') throw error;
    });
  }
  try {
    // These commands start faster without loading the laboratory.
    const lab = withoutLab.has(argv[2] ?? '') ? undefined : await openLab();
    await buildProgram(lab).parseAsync(argv);
    return Number(process.exitCode ?? exitCodes.success);
  } catch (error) {
    // Commander has already printed its message. It reports requested help as an error with exit code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.success : exitCodes.usage;
    const { red } = coloursFor('stderr');
    const message = error instanceof Error ? error.message : String(error);
    console.error([`${red('error:')} ${message}`, limitFix(error)].filter(Boolean).join('. '));
    return exitCodes.failure;
  }
}
