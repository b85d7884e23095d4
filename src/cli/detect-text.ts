import type { DetectedFile } from './detect-files.ts';
import { type Colours, printable } from './terminal.ts';

/** A picture as a person wants to read it: a line for it, and one for each face. */
export function describeFaces(picture: DetectedFile, colours: Colours): string {
  const { file, width, height, format, faces, drawing } = picture;
  const found = faces.length === 0 ? 'no face' : `${faces.length} face${faces.length === 1 ? '' : 's'}`;
  const drawn = drawing === undefined ? '' : `, drawn to ${printable(drawing)}`;
  return [
    `${colours.bold(printable(file))}  ${width}×${height} ${format}, ${found}${drawn}`,
    ...faces.map((face) => describeFace(face, colours)),
  ].join('\n');
}

function describeFace(face: DetectedFile['faces'][number], colours: Colours): string {
  const { index, box, detection_score, found_by, human_score, pose, quality } = face;
  const step = found_by.padEnd('enhanced'.length);
  return [
    `  ${index.toString().padStart(2)}`,
    `${whole(box.width)}×${whole(box.height)} at (${whole(box.x)}, ${whole(box.y)})`.padEnd(24),
    `score ${detection_score.toFixed(3)}`,
    found_by === 'primary' ? step : colours.yellow(step),
    ...(human_score === undefined ? [] : [`human ${human_score.toFixed(1).padStart(5)}`]),
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
