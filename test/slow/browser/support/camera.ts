import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { newFolder } from '../../../support/folder.ts';
import { surfaces } from '../../../support/surface.mjs';
import { turnedFrames } from '../../../support/turned-head.mjs';
import { chromiumFile } from './session.ts';

/** Starts Chromium with a video (.mjpeg) as its camera. The video begins when a page opens the camera. */
export function launchWithCamera(video: string): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumFile!,
    args: [
      '--use-fake-device-for-media-stream',
      '--use-fake-ui-for-media-stream',
      `--use-file-for-fake-video-capture=${video}`,
    ],
  });
}

/** Makes a video of a head, or of another surface. `poseAt`: the pose at a time of the video. */
export async function videoOf(
  poseAt: (at_s: number) => { yaw: number; pitch: number },
  duration_s: number,
  surface = surfaces.head(),
): Promise<string> {
  const poses = Array.from({ length: 10 * duration_s }, (_, i) => poseAt(i / 10));
  const frames: Buffer[] = await turnedFrames(poses, { surface, quality: 85 });
  const file = join(newFolder(), 'video.mjpeg');
  // Chromium plays 30 frames a second.
  writeFileSync(file, Buffer.concat(frames.flatMap((frame) => [frame, frame, frame])));
  return file;
}

/**
 * Returns how far a head has turned, from 0 to 1. It turns at `from_s`, within 0.8 s, and is back after 2.6 s. A head
 * that turns within 0.5 s can fail with motion_jump, depending on when the page captures its frames.
 */
export const turn = (at_s: number, from_s: number) =>
  Math.max(0, Math.min(1, Math.min(at_s - from_s, from_s + 2.6 - at_s) / 0.8));
