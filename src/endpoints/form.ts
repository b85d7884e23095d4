import type { Config } from '../config/config.ts';
import { Problem, printable, shortName } from '../errors.ts';
import type { FieldRule, Fields, ImageEndpoint, Target } from './endpoint.ts';
import { declaredSize } from './image-size.ts';
import { imageFields, repeatedField, ruleOf } from './images.ts';
import { endpoints } from './index.ts';
import {
  completeOptions,
  invalidOption,
  type MatchOptions,
  maxTargets,
  type OptionValue,
  type PackDefaults,
  readOption,
} from './options.ts';
import type { Warning } from './warnings.ts';

/** The bytes of an image in the body, from `start` up to, not including, `end`. */
interface ByteRange {
  start: number;
  end: number;
}

export interface Form {
  /** The images to analyse, in the order of the endpoint's fields; those of a repeated field in the order sent. */
  images: ByteRange[];
  /** The images of a repeated field, in the order sent. */
  targets: Target[];
  options: MatchOptions;
  warnings: Warning[];
}

export type FormLimits = Pick<Config, 'max_parts' | 'max_field_bytes' | 'max_image_bytes'>;

/** What the form of an endpoint may hold. Made once for each. */
export class FormRules {
  readonly fields: Fields;
  readonly advanced: Fields;
  /** The images that are sent once, in the order in which they are checked. */
  readonly single: readonly string[];
  /** The image that may be sent several times, if any. */
  readonly repeated: string | undefined;
  /** Every field, also those of the advanced endpoint. */
  readonly names: readonly string[];

  constructor({ fields, advanced = {} }: Pick<ImageEndpoint, 'fields' | 'advanced'>) {
    this.fields = fields;
    this.advanced = advanced;
    this.repeated = repeatedField(fields);
    this.single = imageFields(fields).filter((name) => name !== this.repeated);
    this.names = Object.keys({ ...fields, ...advanced });
  }
}

interface SentImage extends Part {
  /** Its first bytes, which say how many pixels it has. */
  head: Buffer;
}

/** Enough for the blocks of a camera that precede the size. */
export const head_bytes = 256 * 1024;

/** More than a detail repeats of a field that is too long. */
const shown_bytes = 256;

/** A part of a form, whose body is the bytes from `start` up to, not including, `end`; its filename is only a label. */
interface Part extends ByteRange {
  name: string;
  filename?: string | undefined;
}

/** The parts of a body → form. Throws Problem for the first fault in their order. */
export function readForm(
  body: Buffer,
  parts: readonly Part[],
  rules: FormRules,
  limits: FormLimits,
  pack: PackDefaults,
): Form {
  const sent = new SentFields(rules, limits);
  for (const part of parts) {
    const { name, filename, start, end } = part;
    const rule = sent.claim(name);
    const text = () =>
      body.toString('utf8', start, Math.min(end, start + Math.max(limits.max_field_bytes, shown_bytes)));
    // Decided by its name: a part without a filename is an image too.
    if (rule?.kind === 'image')
      sent.image({ ...part, head: body.subarray(start, Math.min(end, start + head_bytes)) });
    else if (rule !== undefined && end - start > limits.max_field_bytes)
      throw invalidOption(name, rule, text());
    else if (rule !== undefined) sent.setOption(name, readOption(name, rule, text()));
    else if (filename !== undefined) sent.noteUnknown(name);
  }
  return sent.form(pack);
}

export class SentFields {
  readonly #rules: FormRules;
  readonly #limits: FormLimits;
  readonly #claimed = new Set<string>();
  readonly #images = new Map<string, ByteRange>();
  readonly #several: SentImage[] = [];
  readonly #options: Record<string, OptionValue> = {};
  readonly #unknown = new Set<string>();
  readonly #strays = new Set<string>();

  constructor(rules: FormRules, limits: FormLimits) {
    this.#rules = rules;
    this.#limits = limits;
  }

  /** The rule of a field, once its name is read; undefined where the endpoint does not know it. Throws Problem. */
  claim(name: string): FieldRule | undefined {
    const rule = ruleOf(name, this.#rules.fields);
    if (rule === undefined) {
      this.#unknown.add(name);
    } else if (name === this.#rules.repeated) {
      if (this.#several.length === maxTargets) throw new Problem('too_many_images', { limit: maxTargets });
    } else if (this.#claimed.has(name)) {
      throw new Problem('duplicate_field', { detail: `Send ${name} once.`, field: name });
    }
    this.#claimed.add(name);
    return rule;
  }

  image(image: SentImage): void {
    if (image.name === this.#rules.repeated) this.#several.push(image);
    else this.#images.set(image.name, this.#measured(image));
  }

  /** undefined: its default. */
  setOption(name: string, value: OptionValue | undefined): void {
    if (value !== undefined) this.#options[name] = value;
  }

  /** A field that the endpoint does not know, and that may have been meant as an image. */
  noteUnknown(name: string): void {
    this.#strays.add(name);
  }

  /** Throws Problem when an image is missing, or the pack cannot do what was asked. */
  form(pack: PackDefaults): Form {
    const { single, repeated } = this.#rules;
    const options = completeOptions(this.#options, pack);
    const images = single.map((name) => required(this.#images.get(name), name, this.#strays));
    if (repeated !== undefined && this.#several.length === 0) required(undefined, repeated, this.#strays);
    return {
      images,
      targets: this.#several.map((image) => this.#target(image, images)),
      options,
      warnings: [...this.#unknown].map((name) => unknownField(name, this.#rules)),
    };
  }

  /** Adds an image to `images`; a faulty one does not affect the others. */
  #target(image: SentImage, images: ByteRange[]): Target {
    const { filename, name } = image;
    try {
      return { filename, image: images.push(required(this.#measured(image), name)) - 1 };
    } catch (error) {
      if (error instanceof Problem) return { filename, image: error };
      throw error;
    }
  }

  #measured({ name, start, end, head }: SentImage): ByteRange {
    const { max_image_bytes } = this.#limits;
    if (end - start > max_image_bytes) {
      const size = declaredSize(head);
      const pixels = size
        ? ` and ${size.width} × ${size.height} pixels, ${((size.width * size.height) / 1e6).toFixed(1)} megapixels`
        : '';
      throw new Problem('image_too_large', {
        detail: `Send a smaller image as ${name}: this one has ${end - start} bytes${pixels}; at most ${max_image_bytes} bytes are taken.`,
        limit_bytes: max_image_bytes,
        field: name,
      });
    }
    return { start, end };
  }
}

const known: Fields = Object.assign({}, ...endpoints.map((one) => ('fields' in one ? one.fields : {})));

function unknownField(field: string, { advanced }: FormRules): Warning {
  const detail = ruleOf(field, advanced)
    ? 'This endpoint ignored the field; send it to the advanced one.'
    : ruleOf(field, known)
      ? 'This endpoint ignored the field: it belongs to other endpoints.'
      : 'The field was ignored: no endpoint knows it. Look for a mistake in its name.';
  return { code: 'unknown_field', field: shortName(field), detail };
}

/** Most names of fields that a detail repeats. */
const mostNames = 4;

/** `strays`: the fields that came instead, perhaps. */
function required(
  range: ByteRange | undefined,
  name: string,
  strays: ReadonlySet<string> = new Set(),
): ByteRange {
  if (range !== undefined && range.end > range.start) return range;
  const names = [...strays].slice(0, mostNames).map((stray) => printable(stray) || '""');
  if (strays.size > mostNames) names.push('…');
  const instead = range ? '; this one is empty' : names.length > 0 ? `; you sent ${names.join(', ')}` : '';
  throw new Problem('missing_field', {
    detail: `Send the bytes of an image as ${name}${instead}.`,
    field: name,
  });
}
