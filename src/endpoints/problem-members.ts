import { z } from 'zod';
import { type Detected, kinds } from '../engine/file-kind.ts';
import { qualityLimits } from './face-quality.ts';
import { word } from './schema.ts';

export const qualityReasonNames = qualityLimits.map(({ reason }) => reason);

const meaningOf = Object.fromEntries(
  Object.entries(kinds).map(([name, { meaning }]) => [name, meaning]),
) as Record<Detected, string>;

/** Members of problems. */
export const extraSchemas = {
  expected: z.string().describe('What the field takes'),
  position: z.int().min(0).describe('The character at which the JSON is wrong, counted from 0'),
  given: z.string().describe('What was sent'),
  required_scope: z.string().describe('The scope that the key lacks'),
  limit: z.int().min(1).describe('The most images that are accepted'),
  limit_bytes: z.int().min(1).describe('The most bytes that are accepted'),
  limit_pixels: z.int().min(1).describe('The most pixels, width × height, that are accepted'),
  width: z.int().min(0).describe('Width that the image declares, pixels'),
  height: z.int().min(0).describe('Height that the image declares, pixels'),
  detected: word(meaningOf, 'What the bytes look like.'),
  jpeg_position: z
    .int()
    .min(1)
    .describe('With `unsupported_image_format` only: the byte at which a JPEG begins, counted from 0'),
  faces_found: z.int().min(0).describe('How many faces were found in the image'),
};
