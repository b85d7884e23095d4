import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import type { Command } from 'commander';
import { addHelp } from './help.ts';
import type { DetectedFile } from './image-files.ts';
import { givenOptions, matchFlag } from './match-flags.ts';
import { type Colours, coloursFor, complain, count, printable, progressBar } from './terminal.ts';

interface DetectCommandOptions {
  draw?: string;
  json?: boolean;
}

export function registerDetect(program: Command): void {
  const command = program
    .command('detect')
    .description('find the faces of pictures, and draw them')
    .argument('<image...>', 'JPEG, PNG or WebP files')
    .option(
      '--draw <out>',
      'also write an SVG with the faces drawn over the picture; with several pictures a folder of them',
    )
    .addOption(matchFlag('accuracy_mode'))
    .addOption(matchFlag('use_heuristic_fallback'))
    .addOption(matchFlag('min_det_score'))
    .addOption(matchFlag('detect_presentation_attack'))
    .option('--json', 'print a list with the faces of each picture as the server would give them')
    .action(detect);
  addHelp(command, {
    notes: `Coordinates are pixels of the upright picture. A picture without a face is not a failure. One that cannot be read is,
but only after the others are done.`,
    examples: [
      'facematch detect group.jpg',
      'facematch detect group.jpg --draw group-faces.svg',
      'facematch detect photos/*.jpg --draw drawn --mode fast',
      'facematch detect --json --min-det-score 0.9 a.jpg b.webp',
    ],
  });
}

async function detect(files: string[], options: DetectCommandOptions): Promise<void> {
  const { detectFiles } = await import('./image-files.ts');
  const json = options.json ?? false;
  // On a terminal the printed lines show the progress, and a bar would mix with them.
  const quiet = json || !process.stdout.isTTY;
  const bar = files.length > 1 && quiet ? await progressBar('pictures', files.length) : undefined;
  const outcomes = [];
  const complaints: string[] = [];
  try {
    for await (const outcome of detectFiles(files, givenOptions(options), options.draw)) {
      bar?.advance();
      if (json) outcomes.push(outcome);
      else if (!('error' in outcome)) console.log(describeFaces(outcome, coloursFor('stdout')));
      if ('error' in outcome) complaints.push(outcome.error.detail);
    }
  } finally {
    bar?.stop();
  }
  if (json) console.log(JSON.stringify(outcomes, null, 2));
  complain(complaints);
}

/** A line for the image, and one for each face. */
function describeFaces(image: DetectedFile, colours: Colours): string {
  const { file, width, height, format, faces, drawing } = image;
  const found = faces.length === 0 ? 'no face' : count(faces.length, 'face');
  const drawn = drawing === undefined ? '' : `, drawn to ${printable(drawing)}`;
  return [
    `${colours.bold(printable(file))}  ${width}×${height} ${format}, ${found}${drawn}`,
    ...faces.map((face) => describeFace(face, colours)),
  ].join('\n');
}

function describeFace(face: DetectedFile['faces'][number], colours: Colours): string {
  const { index, box, detection_score, found_by, human_score, occlusion_score, live_score, pose, quality } =
    face;
  const step = found_by.padEnd('enhanced'.length);
  return [
    `  ${index.toString().padStart(2)}`,
    `${whole(box.width)}×${whole(box.height)} at (${whole(box.x)}, ${whole(box.y)})`.padEnd(24),
    `score ${detection_score.toFixed(3)}`,
    found_by === 'primary' ? step : colours.yellow(step),
    ...(human_score === undefined ? [] : [`human ${human_score.toFixed(1).padStart(5)}`]),
    ...(occlusion_score === undefined ? [] : [`covered ${occlusion_score.toFixed(1).padStart(5)}`]),
    ...(live_score === undefined ? [] : [`live ${live_score.toFixed(3)}`]),
    `yaw ${degrees(pose.yaw)} pitch ${degrees(pose.pitch)} roll ${degrees(pose.roll)}`,
    `sharpness ${quality.sharpness.toFixed(2)} brightness ${quality.brightness.toFixed(2)} face ${quality.face_pixels} px`,
  ].join('  ');
}

function degrees(angle: number): string {
  return `${whole(angle)}°`.padStart(4);
}

function whole(value: number): number {
  // Adding 0 turns -0 into 0.
  return Math.round(value) + 0;
}

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
