import type { Command } from 'commander';
import type { Match } from '../endpoints/match.ts';
import type { Many } from '../endpoints/match-many.ts';
import type { Person } from '../endpoints/match-person.ts';
import { addHelp } from './help.ts';
import { givenOptions, matchFlag } from './match-flags.ts';
import { type Colours, coloursFor, complain } from './terminal.ts';

interface MatchCommandOptions {
  person?: true;
  with?: string[];
  json?: true;
}

export function registerMatch(program: Command): void {
  const command = program
    .command('match')
    .description('compare an image file with one or more others, without a server')
    .argument('<reference>', 'a JPEG, PNG or WebP file; - reads standard input')
    .argument('<candidate...>', 'one or more files, each compared separately')
    .option('--person', 'treat all candidates as photos of one person and compare them as a set')
    .option(
      '--with <file>',
      'another photo of the person in the reference; may be given up to three times; implies --person',
      collect,
    )
    .option('--json', 'print the response of the server as JSON')
    .addOption(matchFlag('accuracy_mode'))
    .addOption(matchFlag('threshold_percent'))
    .action((reference: string, candidates: string[], options: MatchCommandOptions) =>
      options.person || options.with
        ? matchPersons([reference, ...(options.with ?? [])], candidates, options)
        : candidates.length === 1
          ? matchTwo(reference, candidates[0]!, options)
          : matchMany(reference, candidates, options),
    );
  addHelp(command, {
    notes:
      'For a non-match the exit code is 0. If a candidate cannot be compared, the others are compared, and the exit code is 1.',
    examples: [
      'facematch match alice.jpg bob.png',
      'facematch match --json --mode fast a.jpg b.jpg',
      'facematch match alice.jpg photos/*.jpg --threshold 80',
      'facematch match - alice.jpg < door-camera.jpg',
      'facematch match --person frame.jpg --with frame2.jpg alice1.jpg alice2.jpg alice3.jpg',
    ],
  });
}

async function matchTwo(file1: string, file2: string, options: MatchCommandOptions): Promise<void> {
  const { compareFiles } = await import('./image-files.ts');
  const { match } = await import('../endpoints/match.ts');
  const start = performance.now();
  const files = { image1: [file1], image2: [file2] };
  const response = await compareFiles<Match>(match, files, givenOptions(options));
  const names = { image1: file1, image2: file2 };
  await print(options, response, ({ describeMatch }, colours) =>
    describeMatch(response, names, performance.now() - start, colours),
  );
}

/** Prints JSON or a description. Loads describe-match.ts only for a description. */
async function print(
  { json }: MatchCommandOptions,
  response: object,
  describe: (words: typeof import('./describe-match.ts'), colours: Colours) => string,
): Promise<void> {
  if (json) console.log(JSON.stringify(response, null, 2));
  else console.log(describe(await import('./describe-match.ts'), coloursFor('stdout')));
}

const collect = (file: string, before: string[] = []) => [...before, file];

async function matchPersons(
  image1: readonly string[],
  image2: readonly string[],
  options: MatchCommandOptions,
): Promise<void> {
  const { compareFiles } = await import('./image-files.ts');
  const { matchPerson } = await import('../endpoints/match-person.ts');
  const response = await compareFiles<Person>(matchPerson, { image1, image2 }, givenOptions(options));
  await print(options, response, ({ describePersons }, colours) => describePersons(response, colours));
}

async function matchMany(
  reference: string,
  image2: readonly string[],
  options: MatchCommandOptions,
): Promise<void> {
  const { compareFiles, withNames } = await import('./image-files.ts');
  const { matchMany } = await import('../endpoints/match-many.ts');
  const files = { image1: [reference], image2 };
  const response = await compareFiles<Many>(matchMany, files, givenOptions(options));
  await print(options, response, ({ describeResults }, colours) =>
    describeResults(response, reference, colours),
  );
  complain(
    response.results.flatMap((result) => {
      const own = { ...files, image2: [image2[result.index]!] };
      return 'problem' in result ? [withNames(result.problem.detail, own)] : [];
    }),
  );
}
