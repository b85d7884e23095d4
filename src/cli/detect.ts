import { type Command, InvalidArgumentError } from 'commander';
import type { AccuracyMode } from '../engine/addon.ts';
import { addHelp } from './help-text.ts';
import { modeOption } from './match.ts';

interface DetectCommandOptions {
  draw?: string;
  mode: AccuracyMode;
  fallback: boolean;
  minDetScore?: number;
  json?: boolean;
}

export function registerDetect(program: Command): void {
  const command = program
    .command('detect')
    .description('find the faces of pictures, and draw them')
    .argument('<image...>', 'JPEG, PNG or WebP files')
    .option('--draw <out>', 'also write a PNG with the faces drawn; with several pictures a folder of them')
    .addOption(modeOption())
    .option('--no-fallback', 'do not look again, in other ways, where no face was found')
    .option('--min-det-score <score>', "least detection score; by default the pack's own", parseScore)
    .option('--json', 'print a list with the faces of each picture as the server would give them')
    .action(detect);
  addHelp(command, {
    notes: `Coordinates are pixels of the upright picture. A picture without a face is no failure; one that cannot be read is,
after the others were done.`,
    examples: [
      'facematch detect group.jpg',
      'facematch detect group.jpg --draw group-faces.png',
      'facematch detect photos/*.jpg --draw drawn --mode fast',
      'facematch detect --json --min-det-score 0.9 a.jpg b.webp',
    ],
  });
}

async function detect(files: string[], options: DetectCommandOptions): Promise<void> {
  const { detectFiles } = await import('./detect-files.ts');
  const { describeFaces } = await import('./detect-text.ts');
  const { progressBar } = await import('./progress.ts');
  const { coloursFor, printable } = await import('./terminal.ts');
  const json = options.json ?? false;
  // Lines that appear one by one are progress enough, and a bar would run through them.
  const quiet = json || !process.stdout.isTTY;
  const bar = files.length > 1 && quiet ? await progressBar('pictures', files.length) : undefined;
  const outcomes = [];
  const complaints: string[] = [];
  try {
    const { draw, mode, fallback, minDetScore } = options;
    for await (const outcome of detectFiles(files, { draw, mode, fallback, minDetScore })) {
      bar?.advance();
      if (json) outcomes.push(outcome);
      else if (!('error' in outcome)) console.log(describeFaces(outcome, coloursFor('stdout')));
      if ('error' in outcome) complaints.push(outcome.error.detail);
    }
  } finally {
    bar?.stop();
  }
  if (json) console.log(JSON.stringify(outcomes, null, 2));
  const { red } = coloursFor('stderr');
  for (const complaint of complaints) console.error(`${red('error:')} ${printable(complaint)}`);
  if (complaints.length > 0) process.exitCode = 1;
}

function parseScore(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value <= 1) return value;
  throw new InvalidArgumentError('Expected a number from 0 to 1.');
}
