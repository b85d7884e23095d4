import { z } from 'zod';

/**
 * What a float net does not tell, measured on pictures once (models/README.md): how far its tensors reach, which
 * factors make their channels alike, and which of its convolutions suffer most and stay floats.
 */
const schema = z.strictObject({
  fitted_on: z.string().min(1),
  /** Convolutions by the tensor that they make. */
  floats: z.array(z.string()),
  /** By the name of their Channels (equalise.ts): a code a channel, signed bytes in base64. */
  factors: z.record(z.string(), z.base64()),
  ranges: z.record(z.string(), z.tuple([z.number(), z.number()])),
});

export type Int8Plan = z.infer<typeof schema>;

/** Throws an Error that names the file and what is wrong with it. */
export function readPlan(bytes: Uint8Array, file: string): Int8Plan {
  let json: unknown;
  try {
    json = JSON.parse(Buffer.from(bytes).toString());
  } catch (error) {
    throw new Error(`${file} is not valid JSON: ${(error as Error).message}`, { cause: error });
  }
  const { data, error } = schema.safeParse(json);
  if (error) throw new Error(`${file} is not a valid plan:\n${z.prettifyError(error)}`);
  return data;
}

/** Four steps an octave, whose sums and products are the same on every machine: (1 + c mod 4 / 4) · 2^⌊c / 4⌋. */
function factorOf(code: number): number {
  return (1 + (code & 3) / 4) * 2 ** (code >> 2);
}

export function decodeFactors(text: string): Float64Array {
  return Float64Array.from(Int8Array.from(Buffer.from(text, 'base64')), factorOf);
}
