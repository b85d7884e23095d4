import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import type { Command } from 'commander';
import { addHelp } from './help.ts';
import { givenOptions, matchFlag } from './match-flags.ts';
import { complain, progressBar } from './terminal.ts';

export function registerEmbed(program: Command): void {
  const command = program
    .command('embed')
    .description('print an embedding of each face of pictures, as lines of JSON')
    .argument('<image...>', 'JPEG, PNG or WebP files')
    .option('--out <out>', 'write the lines to a new file, for its owner alone')
    .addOption(matchFlag('accuracy_mode'))
    .addOption(matchFlag('use_heuristic_fallback'))
    .addOption(matchFlag('min_det_score'))
    .action(embed);
  addHelp(command, {
    notes: `Each line is a face: file, box, quality, embedding (little-endian 32-bit floats, base64), and the pack, version and
mode that are needed to compare it. An embedding is biometric data: it can be used to recognise the person. A picture that
cannot be read is a failure, but only after the others are done.`,
    examples: ['facematch embed alice.jpg', 'facematch embed photos/*.jpg --mode fast --out faces.jsonl'],
  });
}

async function embed(files: string[], { out, ...options }: { out?: string }): Promise<void> {
  const { embedFiles } = await import('./image-files.ts');
  // Opened before the work begins. An existing file is not overwritten.
  const target = out === undefined ? process.stdout : createWriteStream(out, { flags: 'wx', mode: 0o600 });
  if (out !== undefined)
    await new Promise((resolve, reject) => target.once('open', resolve).once('error', reject));
  const bar = files.length > 1 && out !== undefined ? await progressBar('pictures', files.length) : undefined;
  const complaints: string[] = [];
  try {
    for await (const outcome of embedFiles(files, givenOptions(options))) {
      bar?.advance();
      if ('error' in outcome) complaints.push(outcome.error.detail);
      else for (const face of outcome) target.write(`${JSON.stringify(face)}\n`);
    }
  } finally {
    bar?.stop();
    if (out !== undefined) await finished(target.end());
  }
  complain(complaints);
}
