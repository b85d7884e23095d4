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
