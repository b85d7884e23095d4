import type { Command } from 'commander';
import type { FacematchError } from 'facematch/client';
import { samples } from '../config/paths.ts';
import type { ImageField } from '../scoring/similarity.ts';
import type { MatchAnswer } from './demo-answer.ts';
import type { DemoServer } from './demo-server.ts';
import { type ImageFile, readImage } from './files.ts';
import { addHelp } from './help.ts';
import { activity, coloursFor } from './terminal.ts';

/** Signals that end the demo. It then stops its server and removes its folder. */
const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export function registerDemo(program: Command): void {
  const command = program
    .command('demo')
    .description('start a server with a key of its own, send it two photos, show the answer, stop it')
    .argument('[image1]', 'a JPEG, PNG or WebP file; two sample photos when absent')
    .argument('[image2]', 'the other one')
    .option('--json', 'print the answer alone, as the server gave it')
    .action(async (image1: string | undefined, image2: string | undefined, { json }: { json?: true }) => {
      if (image1 !== undefined && image2 === undefined) {
        command.error('error: expected two images, or none for the samples, but received one');
      }
      const [sample1, sample2] = samples;
      await demo(image1 ?? sample1, image2 ?? sample2, json === true);
    });
  addHelp(command, {
    examples: ['facematch demo', 'facematch demo alice.jpg bob.png', 'facematch demo --json'],
  });
}

async function demo(file1: string, file2: string, json: boolean): Promise<void> {
  const { startDemoServer } = await import('./demo-server.ts');
  const { describeAnswer } = await import('./demo-answer.ts');

  // Before the server, so that a missing file fails at once.
  const images = { image1: await readImage(file1), image2: await readImage(file2) };
  const interruption = new AbortController();
  let interruptedBy: NodeJS.Signals | undefined;
  const interrupt = (signal: NodeJS.Signals) => {
    interruptedBy = signal;
    interruption.abort(new Error('The demo was interrupted.'));
  };
  for (const name of endings) process.once(name, interrupt);
  const done = activity('A server starts and compares the photos');
  try {
    const server = await startDemoServer(interruption.signal);
    let fault: string | undefined;
    try {
      const { body, elapsed_ms } = await sendPair(server, images, interruption.signal);
      done();
      const names = { image1: images.image1.name, image2: images.image2.name };
      if (!json) console.log(describeAnswer(body, names, elapsed_ms, coloursFor('stdout')));
      console.log(JSON.stringify(body, null, 2));
    } finally {
      fault = await server.stop();
    }
    if (fault !== undefined) throw new Error(fault);
  } finally {
    done();
    for (const name of endings) process.off(name, interrupt);
    // Everything is cleaned up: let the signal end the process.
    if (interruptedBy !== undefined) process.kill(process.pid, interruptedBy);
  }
}

const answerLimit_ms = 60_000;

/** Sends the pair with the client of this project, and times it. Throws an Error with a message for people. */
async function sendPair(
  { origin, key }: Pick<DemoServer, 'origin' | 'key'>,
  { image1, image2 }: Record<ImageField, ImageFile>,
  signal: AbortSignal,
): Promise<{ body: MatchAnswer; elapsed_ms: number }> {
  const { FacematchClient, FacematchError } = await import('facematch/client');
  const client = new FacematchClient({ url: origin, key, timeout_ms: answerLimit_ms, retries: 0 });
  const [one, two] = [image1, image2].map(({ name, bytes }) => new File([bytes], name)) as [File, File];
  const started_ms = performance.now();
  try {
    const body = await client.match(one, two, {}, { signal });
    return { body, elapsed_ms: performance.now() - started_ms };
  } catch (error) {
    throw error instanceof FacematchError ? new Error(`The server ${describeError(error)}`) : error;
  }
}

/** A problem in one line, with the fields that it lists. */
function describeError({ problem, status, message }: FacematchError): string {
  if (problem === undefined) return `${status === undefined ? 'gave' : 'answered'} ${message}`;
  const { title, detail, code } = problem;
  const fields = 'errors' in problem ? ` (${problem.errors.map(({ field }) => field).join(', ')})` : '';
  return `answered ${problem.status}: ${title}${fields}. ${detail} [${code}]`;
}
