/**
 * A made-up picture, bytes 0–255 as floats, channel after channel: soft blobs of light on a gradient with a little
 * noise. Constant or purely random input would leave most of a net's units on one side of their bend.
 */
export function syntheticPicture(shape: number[], seed: number): Float32Array {
  const [, channels, height, width] = shape as [number, number, number, number];
  const random = randomNumbers(seed);
  const picture = new Float32Array(channels * height * width);
  const blobs = Array.from({ length: 12 }, () => ({
    x: random() * width,
    y: random() * height,
    radius: (0.05 + random() * 0.3) * width,
    light: Array.from({ length: channels }, () => (random() - 0.5) * 240),
  }));
  for (let i = 0; i < picture.length; i++) {
    const channel = Math.floor(i / (height * width));
    const y = Math.floor(i / width) % height;
    const x = i % width;
    let value = 90 + (70 * y) / height + (random() - 0.5) * 12;
    for (const blob of blobs) {
      const distance = ((x - blob.x) ** 2 + (y - blob.y) ** 2) / blob.radius ** 2;
      value += blob.light[channel]! * Math.exp(-distance);
    }
    picture[i] = Math.min(255, Math.max(0, Math.round(value)));
  }
  return picture;
}

/** Mulberry32: small, and the same on every machine. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
