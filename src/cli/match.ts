import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AccuracyMode } from '../engine/addon.ts';
import { addHelp } from './help.ts';

interface MatchCommandOptions {
  json?: boolean;
  mode: AccuracyMode;
  threshold: number;
}

export function registerMatch(program: Command): void {
  const command = program
    .command('match')
    .description('compare two files in this process, without a server')
    .argument('<image1>', 'a JPEG, PNG or WebP file')
    .argument('<image2>', 'the other one')
    .option('--json', 'print the answer as the server would')
    .addOption(modeOption())
    .option('--threshold <percent>', 'confidence from which it is a match', parsePercent, 70)
    .action(async (file1: string, file2: string, options: MatchCommandOptions) => {
      const { matchFiles } = await import('./picture-files.ts');
      const start = performance.now();
      const answer = await matchFiles([file1, file2], {
        accuracy_mode: options.mode,
        threshold_percent: options.threshold,
      });
      if (options.json) {
        console.log(JSON.stringify(answer, null, 2));
        return;
      }
      const { describeAnswer } = await import('./demo-answer.ts');
      const { coloursFor } = await import('./terminal.ts');
      const names = { image1: file1, image2: file2 };
      console.log(describeAnswer(answer, names, performance.now() - start, coloursFor('stdout')));
    });
  addHelp(command, {
    notes:
      'A photo of somebody else is a result, not a failure: the exit code is 0, and "match" in the JSON is false.',
    examples: [
      'facematch match alice.jpg bob.png',
      'facematch match --json --mode fast a.jpg b.jpg',
      'facematch match a.jpg b.jpg --threshold 80',
    ],
  });
}

/** Shared with `eval`. */
export function modeOption(): Option {
  return new Option('--mode <mode>', 'accuracy mode').choices(['fast', 'balance']).default('balance');
}

function parsePercent(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value <= 100) return value;
  throw new InvalidArgumentError('Expected a number from 0 to 100.');
}
