import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  activity,
  addHelp,
  coloursFor,
  describeFinding,
  judgeTrial,
  livenessFamilies,
  livenessFinding,
  preprocessings,
  preprocessingWarning,
} from 'facematch/for-lab';
import type { Added } from '../packs/add.ts';
import { downloadsOf, type PublishedPack } from '../packs/catalogue.ts';
import { knownFamilies } from '../packs/family-defaults.ts';
import type { AddOptions, LivenessFile } from '../packs/own-nets.ts';
import type { PreprocessingTrial } from '../packs/preprocessing-trial.ts';
import { readPairs } from '../pairs.ts';
import { printFit, printWritten } from './calibrate.ts';

export function registerAdd(packs: Command): void {
  const command = packs
    .command('add')
    .description('create a pack from model files, and test it on the sample photos')
    .argument('<name>', 'name of the pack, or a path such as ./mine')
    .option('--detector <file>', "ONNX file of the detector (default: the default pack's)")
    .option('--embedder <file>', "ONNX file of the embedder (default: the default pack's)")
    .option('--landmarks <file>', "ONNX file of a 68-point landmark model (default: the default pack's)")
    .addOption(
      new Option(
        '--detector-family <family>',
        'family of the detector, if its outputs are ambiguous',
      ).choices(knownFamilies),
    )
    .addOption(
      new Option('--preprocessing <name>', 'preprocessing of the embedder input').choices(
        Object.keys(preprocessings),
      ),
    )
    .option(
      '--liveness <file:scale>',
      'ONNX file of a liveness model, and its crop size relative to the face, such as 2.7; repeatable',
      addLiveness,
    )
    .addOption(
      new Option(
        '--liveness-family <family>',
        'family of the liveness models, if their outputs are ambiguous',
      ).choices(Object.keys(livenessFamilies)),
    )
    .option('--try <pairs:dir>', 'compare the common preprocessings on labelled pairs, in the format of eval')
    .option('--embedder-output <name>', "name of the embedder's output, if it has several vectors")
    .option('--licence <text>', 'licence of the files', 'not stated')
    .option('--source <text>', 'project that the files come from', 'files of the operator')
    .option('--json', 'print the result as JSON')
    .action(async (name: string, options: AddOptions & { json?: true; try?: string }) => {
      const trial = options.try === undefined ? undefined : parsePairs(options.try);
      const { detector, embedder, landmarks, liveness } = options;
      if ([detector, embedder, landmarks, liveness].every((one) => one === undefined)) {
        command.error('error: expected at least one of --detector, --embedder, --landmarks and --liveness');
      }
      const { addPack } = await import('../packs/add.ts');
      const done = activity('Reading and testing the models');
      const added = await addPack(name, options).finally(done);
      if (trial === undefined) return printAdded(name, added, options);
      const { preprocessingLines, tryPreprocessings } = await import('../packs/preprocessing-trial.ts');
      const preprocessing = await tryPreprocessings(added.directory, trial.pairs, trial.folder);
      await printAdded(name, { ...added, preprocessing }, options);
      if (!options.json) console.log(['', ...preprocessingLines(preprocessing)].join('\n'));
    });
  addHelp(command, {
    notes: `The command copies the files unchanged, and prints its assumptions; correct them in manifest.json. A pack with another detector, embedder
or landmark model is not calibrated: confidence_percent never exceeds 40 until you run facematch calibrate.`,
    examples: [
      "facematch packs add buffalo_l --detector det_10g.onnx --embedder w600k_r50.onnx --licence 'non-commercial research'",
      'facematch packs add ./live --liveness MiniFASNetV2.onnx:2.7 --liveness MiniFASNetV1SE.onnx:4',
    ],
  });
}

export function registerPull(packs: Command): void {
  const command = packs
    .command('pull')
    .description(
      'download a published pack from its publisher, verify it, and add it; without a name, list all',
    )
    .argument('[name]', 'name of a published pack')
    .option('--as <name>', 'name or path of the new pack (default: the published name)')
    .option('--accept-licence <licence>', 'accept a licence that restricts use')
    .option('--calibrate', 'calibrate the new pack on the published set lfw')
    .option('--json', 'print the result or the list as JSON')
    .action(async (name: string | undefined, options: PullOptions) => {
      const { catalogue } = await import('../packs/catalogue.ts');
      if (name === undefined) {
        if (options.json) console.log(JSON.stringify(catalogue, null, 2));
        else for (const entry of Object.entries(catalogue)) console.log(describePublished(...entry));
        return;
      }
      const pack = catalogue[name];
      if (pack === undefined) {
        const names = Object.keys(catalogue).join(', ');
        return command.error(`error: unknown published pack ${name}; available: ${names}`);
      }
      if (pack.accept !== undefined && options.acceptLicence !== pack.accept) {
        command.error(
          `error: the licence of ${name} is ${pack.licence}; to accept it, add --accept-licence ${pack.accept}`,
        );
      }
      await pull(options.as ?? name, pack, options);
    });
  addHelp(command, {
    notes: `Only this command and calibrate --set download models or photos. They use HTTPS, and honour HTTPS_PROXY, HTTP_PROXY and NO_PROXY. They resume
interrupted downloads, verify the SHA-256 of each file, and keep the files below $XDG_CACHE_HOME or ~/.cache.`,
    examples: [
      'facematch packs pull',
      'facematch packs pull sface --calibrate',
      'facematch packs pull buffalo_l --accept-licence non-commercial',
    ],
  });
}

/** Parses PAIRS.tsv:DIR, and reads the pairs, so that errors are reported before a pack is created. */
function parsePairs(text: string) {
  const [, file, folder] = /^([^:]+):(.+)$/.exec(text) ?? [];
  if (file === undefined || folder === undefined)
    throw new Error(`--try must be PAIRS.tsv:DIR, not ${text}.`);
  return { pairs: readPairs(file), folder };
}

/** Parses FILE:SCALE, and appends it to the values of earlier flags. */
function addLiveness(text: string, before: LivenessFile[] = []): LivenessFile[] {
  const [, file, digits] = /^(.+):(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  const scale = Number(digits);
  if (file !== undefined && scale > 1 && scale <= 1000) return [...before, { file, scale }];
  throw new InvalidArgumentError(
    'Expected FILE:SCALE, with a scale above 1 and at most 1000, such as model.onnx:2.7.',
  );
}

async function printAdded(
  name: string,
  added: Added & { preprocessing?: PreprocessingTrial },
  { json }: { json?: true },
): Promise<void> {
  if (json) {
    console.log(JSON.stringify(added, null, 2));
    return;
  }
  const { trial, better_preprocessing, assumed, directory, liveness, calibrated } = added;
  console.log(`Added ${added.pack} in ${directory}\n\nAssumptions that the files do not confirm:`);
  for (const line of assumed) console.log(`  ${line}`);
  console.log('');
  const findings = [
    ...judgeTrial(trial),
    ...(liveness ? [livenessFinding(liveness, trial)] : []),
    ...(better_preprocessing ? [preprocessingWarning(better_preprocessing)] : []),
  ];
  for (const finding of findings) console.log(describeFinding(finding, coloursFor('stdout')));
  console.log(`\nNext: facematch packs check ${name}`);
  if (!calibrated)
    console.log(
      `Then calibrate it: facematch calibrate --pack ${name} --set lfw, or on photos of your own (docs/packs.md). Until then confidence_percent never exceeds 40.`,
    );
}

interface PullOptions {
  as?: string;
  acceptLicence?: string;
  calibrate?: true;
  json?: true;
}

/**
 * Downloads everything before it creates a pack, so that running the same command again resumes an interrupted
 * download.
 */
async function pull(target: string, pack: PublishedPack, options: PullOptions): Promise<void> {
  const { openSets } = await import('../published-sets.ts');
  const { freeDirectory } = await import('../packs/add.ts');
  const { pullPack } = await import('../packs/pull.ts');
  freeDirectory(target);
  const sets = options.calibrate ? await openSets('lfw') : undefined;
  const added = await pullPack(pack, target);
  if (sets === undefined) return printAdded(target, added, options);
  const { json } = options;
  if (!json) await printAdded(target, { ...added, calibrated: true }, options);
  const { calibratePack } = await import('./calibrate-pack.ts');
  const fit = await calibratePack(sets, { pack: added.directory, check: true, write: true });
  if (json) console.log(JSON.stringify({ ...added, calibrated: fit.written, fit }, null, 2));
  else printFit(fit, json);
  printWritten(fit, true);
}

function describePublished(name: string, pack: PublishedPack): string {
  const files = downloadsOf(pack).map(
    ({ url, bytes, sha256 }) => `  ${url}\n    ${(bytes / 1e6).toFixed(1)} MB, SHA-256 ${sha256}`,
  );
  const accept = pack.accept === undefined ? '' : ` (--accept-licence ${pack.accept})`;
  return [`${name}: ${pack.description}`, `  licence ${pack.licence}${accept}`, ...files].join('\n');
}
