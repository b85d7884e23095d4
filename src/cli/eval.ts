import type { Command } from 'commander';
import type { AccuracyMode } from '../engine/addon.ts';
import type { Evaluation } from '../eval/evaluate.ts';
import { modeOption } from './match.ts';

interface EvalOptions {
  images: string;
  mode: AccuracyMode;
  json?: boolean;
}

export function registerEval(program: Command): void {
  program
    .command('eval')
    .description('measure accuracy on a list of labelled pairs')
    .argument('<pairs>', 'tab-separated, with the columns image1, image2, same (1 or 0) and optionally fold')
    .requiredOption('--images <dir>', "folder that the list's paths start from")
    .addOption(modeOption())
    .option('--json', 'print the figures as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  facematch eval pairs.tsv --images photos\n  facematch eval pairs.tsv --images photos --mode fast --json',
    )
    .action(async (pairsFile: string, options: EvalOptions) => {
      const { readConfig } = await import('../config.ts');
      const { packDirectory, readManifest, verifyPack } = await import('../engine/pack.ts');
      const { evaluate } = await import('../eval/evaluate.ts');
      const { picturesOf, readPairs } = await import('../eval/pairs.ts');
      const { progressBar } = await import('./terminal.ts');
      const config = readConfig();
      const directory = packDirectory(config.pack);
      const manifest = readManifest(directory);
      await verifyPack(directory, manifest);
      const pairs = readPairs(pairsFile);
      const names = picturesOf(pairs);
      const bar = await progressBar('pictures', names.length);
      try {
        const evaluation = await evaluate({
          pairs,
          names,
          folder: options.images,
          packDirectory: directory,
          mode: options.mode,
          minDetScore: manifest.min_det_score,
          workers: config.workers,
          onPicture: () => bar.advance(),
        });
        bar.stop();
        console.log(options.json ? JSON.stringify(evaluation, null, 2) : describe(evaluation));
      } finally {
        bar.stop();
      }
    });
}

const percent = (share: number) => `${(share * 100).toFixed(2)} %`;

function describe(evaluation: Evaluation): string {
  const { by, pairs, pictures, without_face, failures } = evaluation;
  const failed = Object.entries(failures).map(([name, reason]) => `${name} (${reason})`);
  return [
    `pairs              ${pairs.same} same, ${pairs.different} different; mode ${evaluation.mode}`,
    ...describeScores('normalised similarity', by.normalised),
    ...describeScores('cosine', by.cosine),
    `without a face     ${without_face.length} of ${pictures} pictures${list(without_face)}`,
    ...(failed.length > 0 ? [`could not be read  ${failed.length}${list(failed)}`] : []),
    `speed              ${evaluation.pictures_per_second.toFixed(0)} pictures/s`,
  ].join('\n');
}

function describeScores(kind: string, { accuracy, operating_points }: Evaluation['by']['cosine']): string[] {
  const spread =
    accuracy.deviation === undefined ? ', not cross-validated' : ` ± ${percent(accuracy.deviation)}`;
  return [
    `by the ${kind}`,
    `  accuracy         ${percent(accuracy.mean)}${spread} (best threshold ${accuracy.threshold.toFixed(3)})`,
    ...operating_points.map(
      ({ fmr, tar, threshold }) =>
        `  TAR at FMR ${fmr.toString().padEnd(6)}${percent(tar)} (threshold ${threshold.toFixed(3)})`,
    ),
  ];
}

function list(names: readonly string[]): string {
  if (names.length === 0) return '';
  const shown = names.slice(0, 10).join(', ');
  return `: ${shown}${names.length > 10 ? ', …' : ''}`;
}
