import type { Face } from './addon.ts';

/** Most candidates that an embedding is compared with at once. */
export const maxCandidates = 1000;
export const maxJson_bytes = 4 * 1024 * 1024;

/** Cosine of two unit vectors, -1..1. */
export function cosine(a: Float32Array, b: Float32Array): number {
  let dot = 0;
  for (let i = 0; i < a.length; i++) dot += a[i]! * b[i]!;
  return Math.min(1, Math.max(-1, dot));
}

/** Base64 of little-endian 32-bit floats, on every processor. */
export function base64({ embedding }: Pick<Face, 'embedding'>): string {
  const bytes = Buffer.alloc(4 * embedding.length);
  for (const [index, value] of embedding.entries()) bytes.writeFloatLE(value, 4 * index);
  return bytes.toString('base64');
}
