/** Captures camera frames for a liveness check. This file imports nothing, so that other pages can copy it. */

export type Step = 'left' | 'right' | 'up' | 'down';

/** One instruction to the person. */
export interface Phase {
  step: Step | 'straight' | 'middle';
  ms: number;
}

/** Returns the instructions: look straight, then for each step move and return to the middle. */
export const phasesOf = (steps: readonly Step[]): Phase[] => [
  { step: 'straight', ms: 1000 },
  ...steps.flatMap((step): Phase[] => [
    { step, ms: 2000 },
    { step: 'middle', ms: 1200 },
  ]),
];

/** Frames per second, enough for a head that turns slowly. */
const rate = 5;
/** Maximum length of the longer side of a frame in pixels. */
const side = 480;
const jpegQuality = 0.85;

export interface Frame {
  image: Blob;
  /** Mean difference from the previous frame, in an arbitrary unit. */
  change: number;
}

/** Captures until `signal` is aborted or `duration_ms` has passed. Frames are not mirrored. */
export async function capture(
  video: HTMLVideoElement,
  duration_ms: number,
  signal: AbortSignal,
): Promise<Frame[]> {
  const frames: Frame[] = [];
  let before: Uint8ClampedArray | undefined;
  const end = performance.now() + duration_ms;
  while (performance.now() < end && !signal.aborted) {
    const next = performance.now() + 1000 / rate;
    const { canvas, small } = draw(video);
    const image = await canvas.convertToBlob({ type: 'image/jpeg', quality: jpegQuality });
    frames.push({ image, change: before === undefined ? 0 : difference(before, small) });
    before = small;
    await sleep(next - performance.now(), signal);
  }
  return frames;
}

function draw(video: HTMLVideoElement) {
  const { videoWidth, videoHeight } = video;
  const scale = Math.min(1, side / Math.max(videoWidth, videoHeight, 1));
  const [width, height] = [
    Math.max(1, Math.round(videoWidth * scale)),
    Math.max(1, Math.round(videoHeight * scale)),
  ];
  const canvas = new OffscreenCanvas(width, height);
  canvas.getContext('2d')?.drawImage(video, 0, 0, width, height);
  const thumbnail = new OffscreenCanvas(32, 24);
  const context = thumbnail.getContext('2d', { willReadFrequently: true });
  context?.drawImage(canvas, 0, 0, 32, 24);
  return { canvas, small: context?.getImageData(0, 0, 32, 24).data ?? new Uint8ClampedArray() };
}

/** Returns the mean difference of two thumbnails. */
function difference(a: Uint8ClampedArray, b: Uint8ClampedArray): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += Math.abs(a[i]! - b[i]!);
  return sum / Math.max(1, a.length);
}

/**
 * Selects at most `max` frames: the first two, then frames at about equal distances. Distance is elapsed time plus
 * image change, so more frames are dropped where the head is still than where it moves.
 */
export function select(frames: readonly Frame[], max: number): Blob[] {
  if (frames.length <= max) return frames.map(({ image }) => image);
  const [first, second, ...others] = frames;
  const mean = others.reduce((sum, { change }) => sum + change, 0) / others.length;
  // Adding the mean change per frame gives time and change the same weight.
  let sum = 0;
  const positions = others.map(({ change }) => {
    sum += change + mean;
    return sum;
  });
  const kept = new Set<number>();
  const wanted = max - 2;
  for (let i = 1; i <= wanted; i++) {
    const at = positions.findIndex((position) => position >= (sum * i) / wanted - 1e-9);
    kept.add(at < 0 ? others.length - 1 : at);
  }
  return [first!, second!, ...others.filter((_, i) => kept.has(i))].map(({ image }) => image);
}

/** Resolves after `ms`, or as soon as the signal is aborted. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, signal.aborted ? 0 : Math.max(0, ms));
    signal.addEventListener('abort', end);
  });
}
