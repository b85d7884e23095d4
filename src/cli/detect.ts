import { once } from 'node:events';
import { createWriteStream, writeFileSync } from 'node:fs';
import { finished } from 'node:stream/promises';
import type { Command } from 'commander';
import type { imageBody } from '../endpoints/face.ts';
import type { Warning } from '../endpoints/warnings.ts';
import { drawFaces, drawingFiles } from './drawing.ts';
import { addHelp } from './help.ts';
import { givenOptions, matchFlag } from './match-flags.ts';
import { type Colours, coloursFor, complain, count, printable, progressBar, warn } from './terminal.ts';

type ImageBody = ReturnType<typeof imageBody> & { warnings: readonly Warning[] };

export function registerDetect(program: Command): void {
  const command = program
    .command('detect')
    .description('detect the faces in images and optionally draw them')
    .argument('<image...>', 'JPEG, PNG or WebP files; - reads standard input')
    .option(
      '--draw <out>',
      'also write an SVG file with the faces drawn over the image; for several images, the folder for the SVG files',
    )
    .addOption(matchFlag('accuracy_mode'))
    .addOption(matchFlag('use_heuristic_fallback'))
    .addOption(matchFlag('min_det_score'))
    .addOption(matchFlag('detect_presentation_attack'))
    .option('--json', 'print the faces of each image as JSON, as the server returns them')
    .action(detect);
  addHelp(command, {
    notes: `Coordinates are in pixels of the upright image. An image without a face is not a failure. If an image cannot be read,
the other images are processed, and the exit code is 1.`,
    examples: [
      'facematch detect group.jpg --draw group-faces.svg',
      'facematch detect photos/*.jpg --draw drawn --mode fast',
      'facematch detect --json --min-det-score 0.9 a.jpg b.webp',
    ],
  });
}

async function detect(files: string[], options: { draw?: string; json?: true }): Promise<void> {
  const { analyseFiles } = await import('./image-files.ts');
  const { draw, json = false } = options;
  const drawings = draw === undefined ? [] : drawingFiles(files, draw);
  // On a terminal the printed lines already show the progress, and a bar would overwrite them.
  const quiet = json || !process.stdout.isTTY;
  const bar = files.length > 1 && quiet ? await progressBar('images', files.length) : undefined;
  const outcomes: object[] = [];
  const complaints: string[] = [];
  try {
    for await (const { file, error, bytes, image, body } of analyseFiles(files, givenOptions(options))) {
      const drawing = drawings[outcomes.length];
      bar?.advance();
      if (error !== undefined) {
        complaints.push(error.detail);
        outcomes.push({ file, error });
        continue;
      }
      if (drawing !== undefined) writeFileSync(drawing, drawFaces(bytes, image));
      outcomes.push({ file, ...body, ...(drawing && { drawing }) });
      if (!json) console.log(describeFaces(file, body, drawing, coloursFor('stdout')));
    }
  } finally {
    bar?.stop();
  }
  if (json) console.log(JSON.stringify(outcomes, null, 2));
  complain(complaints);
}

/** Returns one line for the image and one for each face. */
function describeFaces(
  file: string,
  { width, height, format, faces, min_detectable_face_px, warnings }: ImageBody,
  drawing: string | undefined,
  colours: Colours,
): string {
  const found = faces.length === 0 ? 'no face' : count(faces.length, 'face');
  const drawn = drawing === undefined ? '' : `, drawn to ${printable(drawing)}`;
  return [
    `${colours.bold(printable(file))}  ${width}×${height} ${format}, ${found} of at least ${min_detectable_face_px} px${drawn}`,
    ...warnings.map(({ detail }) => `  ${colours.yellow('warning')}  ${detail}`),
    ...faces.map((face) => describeFace(face, colours)),
  ].join('\n');
}

function describeFace(face: ImageBody['faces'][number], colours: Colours): string {
  const { box, found_by, human_score, occlusion_score, live_score, pose, quality } = face;
  const step = found_by.padEnd('enhanced'.length);
  return [
    `  ${face.index.toString().padStart(2)}`,
    `${whole(box.width)}×${whole(box.height)} at (${whole(box.x)}, ${whole(box.y)})`.padEnd(24),
    `score ${face.detection_score.toFixed(3)}`,
    found_by === 'primary' ? step : colours.yellow(step),
    ...(human_score === undefined ? [] : [`human ${human_score.toFixed(1).padStart(5)}`]),
    ...(occlusion_score === undefined ? [] : [`covered ${occlusion_score.toFixed(1).padStart(5)}`]),
    ...(live_score === undefined ? [] : [`live ${live_score.toFixed(3)}`]),
    `yaw ${degrees(pose.yaw)} pitch ${degrees(pose.pitch)} roll ${degrees(pose.roll)}`,
    `sharpness ${quality.sharpness.toFixed(2)} brightness ${quality.brightness.toFixed(2)} face ${quality.face_pixels} px stretch ${quality.stretch_ratio.toFixed(2)}`,
    ...(quality.dot_pitch_px > 0 ? [`dots every ${quality.dot_pitch_px.toFixed(1)} px`] : []),
  ].join('  ');
}

const degrees = (angle: number) => `${whole(angle)}°`.padStart(4);

/** Rounds to an integer. Adding 0 turns -0 into 0. */
const whole = (value: number) => Math.round(value) + 0;

export function registerEmbed(program: Command): void {
  const command = program
    .command('embed')
    .description('print the embedding of each face in the images, as lines of JSON')
    .argument('<image...>', 'JPEG, PNG or WebP files; - reads standard input')
    .option('--out <out>', 'write the lines to a new file that only its owner may read')
    .addOption(matchFlag('accuracy_mode'))
    .addOption(matchFlag('use_heuristic_fallback'))
    .addOption(matchFlag('min_det_score'))
    .action(embed);
  addHelp(command, {
    notes: `Each line has a face, its file, its embedding (little-endian 32-bit floats, base64), pack, version and mode, and the warnings and
min_detectable_face_px of its image. Warnings, and the names of images without a face, are also printed to standard error. An
embedding is biometric data: it can be used to recognise the person. If an image cannot be read, the other images are processed,
and the exit code is 1.`,
    examples: ['facematch embed alice.jpg', 'facematch embed photos/*.jpg --mode fast --out faces.jsonl'],
  });
}

async function embed(files: string[], { out, ...options }: { out?: string }): Promise<void> {
  const { analyseFiles } = await import('./image-files.ts');
  const { base64 } = await import('../endpoints/embed.ts');
  // Opened first, so that the command rejects an existing file before it analyses an image.
  const target = out === undefined ? process.stdout : createWriteStream(out, { flags: 'wx', mode: 0o600 });
  if (out !== undefined) await once(target, 'open');
  const bar = files.length > 1 && out !== undefined ? await progressBar('images', files.length) : undefined;
  const complaints: string[] = [];
  const noted: string[] = [];
  try {
    for await (const { file, error, image, body, model } of analyseFiles(files, givenOptions(options))) {
      bar?.advance();
      if (error !== undefined) {
        complaints.push(error.detail);
        continue;
      }
      const { faces, min_detectable_face_px, warnings } = body;
      if (faces.length === 0) noted.push(`${file}: no face of at least ${min_detectable_face_px} px`);
      noted.push(...warnings.map(({ detail }) => `${file}: ${detail}`));
      for (const [index, face] of faces.entries()) {
        const known = { ...model, min_detectable_face_px, warnings };
        const line = { file, ...face, ...known, embedding: base64(image.faces[index]!) };
        target.write(`${JSON.stringify(line)}\n`);
      }
    }
  } finally {
    bar?.stop();
    if (out !== undefined) await finished(target.end());
  }
  warn(noted);
  complain(complaints);
}
