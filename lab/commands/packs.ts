import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  activity,
  addHelp,
  coloursFor,
  describeFinding,
  feedings,
  feedingWarning,
  judgeTrial,
  livenessFamilies,
  livenessFinding,
} from 'facematch/for-lab';
import type { Added } from '../packs/add.ts';
import { downloadsOf, type PublishedPack } from '../packs/catalogue.ts';
import type { FeedingTrial } from '../packs/feeding-trial.ts';
import type { AddOptions, LivenessFile } from '../packs/own-nets.ts';
import { usualFamilies } from '../packs/usual.ts';
import { readPairs } from '../pairs.ts';
import { printFit, tellWritten } from './calibrate.ts';

export function registerAdd(packs: Command): void {
  const command = packs
    .command('add')
    .description('make a pack of nets of your own: look into the files, write the manifest, try it')
    .argument('<name>', 'its name, or a path such as ./mine')
    .option('--detector <file>', "ONNX file of the net that finds faces; the default pack's when absent")
    .option(
      '--embedder <file>',
      "ONNX file of the net that turns faces into vectors; the default pack's when absent",
    )
    .option('--landmarks <file>', "ONNX file of a net of 68 landmarks; the default pack's when absent")
    .addOption(
      new Option('--family <family>', 'family of the detector, when its outputs do not tell').choices(
        usualFamilies,
      ),
    )
    .addOption(
      new Option('--feeding <name>', 'whose embedders are fed like yours').choices(Object.keys(feedings)),
    )
    .option(
      '--liveness <file:scale>',
      'ONNX file of a net for presentation attacks, and the sides of its crop in sides of the face, such as 2.7; may be given several times',
      addLiveness,
    )
    .addOption(
      new Option(
        '--liveness-family <family>',
        'family of these nets, when the count of their numbers does not tell',
      ).choices(Object.keys(livenessFamilies)),
    )
    .option(
      '--try <pairs:dir>',
      'PAIRS.tsv:DIR, labelled pairs as for eval: every usual way to feed the embedder is tried on them',
    )
    .option('--output <name>', "name of the embedder's output, when it has several vectors")
    .option('--licence <text>', 'under which you have the files', 'not stated')
    .option('--project <text>', 'where they come from', 'files of the operator')
    .option('--json', 'print what was made as JSON')
    .action(async (name: string, options: AddOptions & { json?: true; try?: string }) => {
      const trial = options.try === undefined ? undefined : parsePairs(options.try);
      const { detector, embedder, landmarks, liveness } = options;
      if ([detector, embedder, landmarks, liveness].every((one) => one === undefined)) {
        command.error('error: expected at least one of --detector, --embedder, --landmarks and --liveness');
      }
      const { addPack } = await import('../packs/add.ts');
      const done = activity('The nets are looked into and tried');
      const added = await addPack(name, options).finally(done);
      if (trial === undefined) return tell(name, added, options);
      const { feedingLines, tryFeedings } = await import('../packs/feeding-trial.ts');
      const feeding = await tryFeedings(added.directory, trial.pairs, trial.folder);
      await tell(name, { ...added, feeding }, options);
      if (!options.json) console.log(['', ...feedingLines(feeding)].join('\n'));
    });
  addHelp(command, {
    notes: `Files are copied and used as they are. What a file does not say is assumed and told; correct it in manifest.json.
A pack with another detector, embedder or landmarks is not calibrated: it serves, but no answer passes 40 percent until facematch
calibrate has measured a table.`,
    examples: [
      "facematch packs add buffalo_l --detector det_10g.onnx --embedder w600k_r50.onnx --licence 'non-commercial research'",
      'facematch packs add sface --embedder face_recognition_sface_2021dec.onnx --licence Apache-2.0',
      'facematch packs add ./mine --detector yunet.onnx --family yunet',
      'facematch packs add ./live --liveness MiniFASNetV2.onnx:2.7 --liveness MiniFASNetV1SE.onnx:4',
    ],
  });
}

export function registerPull(packs: Command): void {
  const command = packs
    .command('pull')
    .description(
      'download a published pack from its publisher, verify it, and add it; without a name, list them',
    )
    .argument('[name]', 'of a published pack')
    .option('--as <name>', 'name of the pack here, or a path to it; the same when absent')
    .option('--accept-licence <licence>', 'for a pack whose licence allows less than any use')
    .option(
      '--calibrate',
      'then calibrate it on the published set lfw, as facematch calibrate --set lfw does',
    )
    .option('--json', 'print what was made, or the list, as JSON')
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
        return command.error(`error: no published pack is named ${name}; there are ${names}`);
      }
      if (pack.accept !== undefined && options.acceptLicence !== pack.accept) {
        command.error(
          `error: ${name} is for ${pack.licence} use; if yours is, add --accept-licence ${pack.accept}`,
        );
      }
      await pull(options.as ?? name, pack, options);
    });
  addHelp(command, {
    notes: `Nothing is downloaded but by this command. It uses HTTPS, and the proxy of HTTPS_PROXY and NO_PROXY. What was cut off is
resumed; files are verified by their SHA-256 and kept below $XDG_CACHE_HOME, or ~/.cache.`,
    examples: [
      'facematch packs pull',
      'facematch packs pull sface --calibrate',
      'facematch packs pull buffalo_l --accept-licence non-commercial',
    ],
  });
}

/** PAIRS.tsv:DIR, read before a pack is made. */
function parsePairs(text: string) {
  const [, file, folder] = /^([^:]+):(.+)$/.exec(text) ?? [];
  if (file === undefined || folder === undefined)
    throw new Error(`--try takes PAIRS.tsv:DIR, and not ${text}.`);
  return { pairs: readPairs(file), folder };
}

/** FILE:SCALE, added to those before. */
function addLiveness(text: string, before: LivenessFile[] = []): LivenessFile[] {
  const [, file, digits] = /^(.+):(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  const scale = Number(digits);
  if (file !== undefined && scale > 1 && scale <= 1000) return [...before, { file, scale }];
  throw new InvalidArgumentError('Expected FILE:SCALE, with a scale above 1, such as net.onnx:2.7.');
}

async function tell(
  name: string,
  added: Added & { feeding?: FeedingTrial },
  { json }: { json?: true },
): Promise<void> {
  if (json) {
    console.log(JSON.stringify(added, null, 2));
    return;
  }
  const { trial, better_feeding, assumed, directory, liveness, calibrated } = added;
  console.log(`Added ${added.pack} in ${directory}\n\nAssumed, because the files do not say it:`);
  for (const line of assumed) console.log(`  ${line}`);
  console.log('');
  const findings = [
    ...judgeTrial(trial),
    ...(liveness ? [livenessFinding(liveness, trial)] : []),
    ...(better_feeding ? [feedingWarning(better_feeding)] : []),
  ];
  for (const finding of findings) console.log(describeFinding(finding, coloursFor('stdout')));
  console.log(`\nNext: facematch packs check ${name}`);
  if (!calibrated)
    console.log(
      `Then calibrate it: facematch calibrate --pack ${name} --set lfw, or on photos of your own (docs/packs.md). Until then no answer passes 40 percent.`,
    );
}

interface PullOptions {
  as?: string;
  acceptLicence?: string;
  calibrate?: true;
  json?: true;
}

/** All is downloaded before a pack is made, so that the same line goes on with a download that was cut off. */
async function pull(target: string, pack: PublishedPack, options: PullOptions): Promise<void> {
  const { openSets } = await import('../published-sets.ts');
  const { freeDirectory } = await import('../packs/add.ts');
  const { pullPack } = await import('../packs/pull.ts');
  freeDirectory(target);
  const sets = options.calibrate ? await openSets('lfw') : undefined;
  const added = await pullPack(pack, target);
  if (sets === undefined) return tell(target, added, options);
  const { json } = options;
  if (!json) await tell(target, { ...added, calibrated: true }, options);
  const { calibratePack } = await import('./calibrate-pack.ts');
  const fit = await calibratePack(sets, { pack: added.directory, check: true, write: true });
  if (json) console.log(JSON.stringify({ ...added, calibrated: fit.written, fit }, null, 2));
  else printFit(fit, json);
  tellWritten(fit, true);
}

function describePublished(name: string, pack: PublishedPack): string {
  const files = downloadsOf(pack).map(
    ({ url, bytes, sha256 }) => `  ${url}\n    ${(bytes / 1e6).toFixed(1)} MB, SHA-256 ${sha256}`,
  );
  const accept = pack.accept === undefined ? '' : ` (--accept-licence ${pack.accept})`;
  return [`${name}: ${pack.description}`, `  licence ${pack.licence}${accept}`, ...files].join('\n');
}
