import { Problem } from '../errors.ts';
import type { LowQualityFace } from '../matching/face-quality.ts';
import {
  type FieldValues,
  type FormEndpoint,
  fieldTable,
  fillFields,
  imageFields,
  invalidField,
  mostTargets,
  parseField,
  repeatedField,
  ruleOf,
} from './fields.ts';
import { MultipartError, type Part, parseMultipart } from './multipart.ts';

/** The bytes of an image in the body, from `start` up to, not including, `end`. */
interface ByteRange {
  start: number;
  end: number;
}

/** A request's form, checked. */
export interface Form {
  /** The images to analyse, in the order of the field table; those of a repeated field in the order sent. */
  images: ByteRange[];
  /** The images of a repeated field, in the order sent. */
  targets: Target[];
  values: FieldValues;
  warnings: UnknownField[];
}

/** Something that was accepted but may not be what the client meant. `detail` says what to do about it. */
export type Warning = UnknownField | LowQualityFace;

export interface Target {
  /** As sent; only a label. */
  filename: string | undefined;
  /** Its index in `images`, or why it is not there. */
  image: number | Problem;
  /** The name of the image in problems; by default the form's field. */
  name?: string;
}

interface UnknownField {
  code: 'unknown_field';
  field: string;
  detail: string;
}

export interface FormLimits {
  max_parts: number;
  max_part_header_bytes: number;
  max_field_bytes: number;
  max_image_bytes: number;
}

/** Body → form. Throws Problem for the first fault in the order of the parts. */
export function readForm(
  body: Buffer,
  boundary: string,
  endpoint: FormEndpoint,
  limits: FormLimits,
  pack: { min_det_score: number },
): Form {
  const repeated = repeatedField(endpoint);
  const images = new Map<string, ByteRange>();
  const sent: Part[] = [];
  const parsed = new Map<string, number | string>();
  const unknown = new Set<string>();
  for (const part of partsOf(body, boundary, limits, repeated === undefined ? 0 : mostTargets)) {
    const { name, start, end } = part;
    const rule = ruleOf(name, endpoint);
    if (rule === undefined) {
      unknown.add(name);
    } else if (name === repeated) {
      if (sent.length === mostTargets) throw new Problem('too_many_images', { limit: mostTargets });
      sent.push(part);
    } else if (images.has(name) || parsed.has(name)) {
      throw new Problem('duplicate_field', { detail: `Send ${name} once.`, field: name });
    } else if (rule.kind === 'image') {
      // Decided by its name: a part without a filename is an image too.
      images.set(name, imageRange(part, limits));
    } else if (end - start > limits.max_field_bytes) {
      throw invalidField(name, rule);
    } else {
      parsed.set(name, parseField(name, rule, body.toString('latin1', start, end)));
    }
  }
  const single = imageFields(endpoint).filter((name) => name !== repeated);
  const wanted = single.map((name) => required(images.get(name), name));
  if (repeated !== undefined && sent.length === 0) required(undefined, repeated);
  return {
    images: wanted,
    targets: sent.map((part) => targetOf(part, wanted, limits)),
    values: fillFields(parsed, pack),
    warnings: [...unknown].map((name) => unknownField(name, endpoint)),
  };
}

/** Adds an image to `images`; a faulty one does not affect the others. */
function targetOf(part: Part, images: ByteRange[], limits: FormLimits): Target {
  const { filename, name } = part;
  try {
    return { filename, image: images.push(required(imageRange(part, limits), name)) - 1 };
  } catch (error) {
    if (error instanceof Problem) return { filename, image: error };
    throw error;
  }
}

function unknownField(field: string, endpoint: FormEndpoint): UnknownField {
  const detail =
    endpoint === 'match' && ruleOf(field, 'match_advanced')
      ? 'This endpoint ignored the field; send it to the advanced one.'
      : Object.hasOwn(fieldTable, field)
        ? 'This endpoint ignored the field: it belongs to other endpoints.'
        : 'The field was ignored: no endpoint knows it. Look for a mistake in its name.';
  return { code: 'unknown_field', field, detail };
}

function partsOf(body: Buffer, boundary: string, limits: FormLimits, further: number): Part[] {
  try {
    return parseMultipart(body, boundary, {
      parts: limits.max_parts + further,
      header_bytes: limits.max_part_header_bytes,
    });
  } catch (error) {
    throw asProblem(error);
  }
}

/** A MultipartError as a problem, whose detail is the parser's message; other errors as they are. */
export function asProblem(error: unknown): unknown {
  return error instanceof MultipartError
    ? new Problem('invalid_multipart', { detail: `${error.message}.` })
    : error;
}

function imageRange({ name, start, end }: Part, { max_image_bytes }: FormLimits): ByteRange {
  if (end - start > max_image_bytes) {
    throw new Problem('image_too_large', {
      detail: `Send a smaller picture as ${name}; "limit_bytes" is the most an image may have.`,
      limit_bytes: max_image_bytes,
      field: name,
    });
  }
  return { start, end };
}

function required(range: ByteRange | undefined, name: string): ByteRange {
  if (range !== undefined && range.end > range.start) return range;
  throw new Problem('missing_field', {
    detail: `Send the bytes of a picture as ${name}${range ? '; this one is empty' : ''}.`,
    field: name,
  });
}
