import type { Command } from 'commander';
import type { FacematchError } from 'facematch/client';
import { samples } from '../config/paths.ts';
import type { ImageField } from '../scoring/similarity.ts';
import type { DemoServer } from './demo-server.ts';
import type { MatchResponse } from './describe-match.ts';
import { type ImageFile, readImage } from './files.ts';
import { addHelp, commandLine } from './help.ts';
import { activity, coloursFor } from './terminal.ts';

/** Signals on which the demo stops its server, removes its folder and exits. */
const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

interface DemoOptions {
  open?: true;
  json?: true;
}

export function registerDemo(program: Command): void {
  const command = program
    .command('demo')
    .description('start a temporary server, compare two photos, print the result, stop the server')
    .argument('[image1]', 'a JPEG, PNG or WebP file; without files, two sample photos are compared')
    .argument('[image2]', 'the photo to compare image1 with')
    .option('--open', 'keep the server running and open its demo page in a browser')
    .option('--json', 'print the response as JSON')
    .action(async (image1: string | undefined, image2: string | undefined, options: DemoOptions) => {
      if (image1 !== undefined && image2 === undefined) {
        command.error('error: expected two images, or none for the samples, but received one');
      }
      if (options.open && (image1 !== undefined || options.json)) {
        command.error('error: --open shows the sample photos on a page; use it without images and --json');
      }
      const [sample1, sample2] = samples;
      await demo(image1 ?? sample1, image2 ?? sample2, options);
    });
  addHelp(command, {
    examples: [
      'facematch demo',
      'facematch demo --open                   # the same in a browser, until Ctrl-C',
      'facematch demo alice.jpg bob.png',
      'facematch demo --json',
    ],
  });
}

async function demo(file1: string, file2: string, { open, json }: DemoOptions): Promise<void> {
  const { startDemoServer } = await import('./demo-server.ts');

  // Reads the images before the server starts, so that a missing file fails at once.
  const images = { image1: await readImage(file1), image2: await readImage(file2) };
  const interruption = new AbortController();
  let interruptedBy: NodeJS.Signals | undefined;
  const interrupt = (signal: NodeJS.Signals) => {
    interruptedBy = signal;
    interruption.abort(new Error('The demo was interrupted.'));
  };
  for (const name of endings) process.once(name, interrupt);
  const done = activity(open ? 'Starting a server' : 'Starting a server and comparing two photos');
  try {
    const server = await startDemoServer(interruption.signal);
    let fault: string | undefined;
    try {
      if (open) {
        done();
        const { showPage } = await import('./demo-page.ts');
        await showPage(server);
        await server.ended(interruption.signal);
      } else await showPair(server, images, interruption.signal, done, json === true);
    } finally {
      fault = await server.stop();
    }
    if (fault !== undefined) throw new Error(fault);
  } finally {
    done();
    for (const name of endings) process.off(name, interrupt);
    // After the cleanup, the default action of the signal ends the process.
    if (interruptedBy !== undefined) process.kill(process.pid, interruptedBy);
  }
}

/** Compares the pair and prints the result, then the next steps. */
async function showPair(
  server: DemoServer,
  images: Record<ImageField, ImageFile>,
  signal: AbortSignal,
  done: () => void,
  json: boolean,
): Promise<void> {
  const { describeMatch } = await import('./describe-match.ts');
  const { body, elapsed_ms } = await sendPair(server, images, signal);
  done();
  if (json) {
    console.log(JSON.stringify(body, null, 2));
    return;
  }
  const names = { image1: images.image1.name, image2: images.image2.name };
  console.log(describeMatch(body, names, elapsed_ms, coloursFor('stdout')));
  console.log(
    [
      'Next:',
      `  ${commandLine('demo --open')}   shows this comparison in a browser`,
      `  ${commandLine('demo --json')}   prints the whole response`,
      `  ${commandLine('keys create --name my-app')} && ${commandLine('serve')}   starts a server for your program`,
    ].join('\n'),
  );
}

const responseTimeout_ms = 60_000;

/** Sends the pair with facematch/client and measures the time. Throws an Error whose message is meant for the user. */
async function sendPair(
  { origin, key }: Pick<DemoServer, 'origin' | 'key'>,
  { image1, image2 }: Record<ImageField, ImageFile>,
  signal: AbortSignal,
): Promise<{ body: MatchResponse; elapsed_ms: number }> {
  const { FacematchClient, FacematchError } = await import('facematch/client');
  const client = new FacematchClient({ url: origin, key, timeout_ms: responseTimeout_ms, retries: 0 });
  const [one, two] = [image1, image2].map(({ name, bytes }) => new File([bytes], name)) as [File, File];
  const started_ms = performance.now();
  try {
    const body = await client.match(one, two, {}, { signal });
    return { body, elapsed_ms: performance.now() - started_ms };
  } catch (error) {
    throw error instanceof FacematchError ? new Error(`The server ${describeError(error)}`) : error;
  }
}

/** Returns the error as one line, with the names of the invalid fields. */
function describeError({ problem, status, message }: FacematchError): string {
  if (problem === undefined) return `${status === undefined ? 'failed:' : 'returned'} ${message}`;
  const { title, detail, code } = problem;
  const fields = 'errors' in problem ? ` (${problem.errors.map(({ field }) => field).join(', ')})` : '';
  return `returned ${problem.status}: ${title}${fields}. ${detail} [${code}]`;
}
