import { z } from 'zod';

/** Shorthands for the schemas of requests and responses. */

export const object = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.object(shape).describe(description);
export const text = (description: string) => z.string().describe(description);
export const flag = (description: string) => z.boolean().describe(description);
export const optional = <Schema extends z.ZodType>(schema: Schema, description: string) =>
  schema.exactOptional().describe(description);

export const listOf = <Item extends z.ZodType>(item: Item, description: string) =>
  z.array(item).describe(description);

/** An enumeration; the description explains each value. */
export function word<Word extends string>(words: Readonly<Record<Word, string>>, description: string) {
  const meanings = Object.entries(words).map(([value, meaning]) => `\`${value}\`: ${meaning}`);
  return z.enum(Object.keys(words) as Word[]).describe(`${description} ${meanings.join('; ')}.`);
}

export const count = z.int().min(0);
/** An integer of at least 1. */
export const positive = z.int().min(1);
export const share = z.number().min(0).max(1);
export const percent = z.number().min(0).max(100);
export const cosine = z.number().min(-1).max(1);
export const milliseconds = (what: string) => z.number().min(0).describe(`${what}, milliseconds`);
