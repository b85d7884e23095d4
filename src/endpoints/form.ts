import type { Config } from '../config/config.ts';
import { excerpt, shortName } from '../engine/client-input.ts';
import { holdsImage } from '../engine/file-kind.ts';
import { declaredSize } from '../engine/image-size.ts';
import { type ErrorCode, Problem } from '../errors.ts';
import type { FieldRule, Fields, ImageEndpoint, ImageRule, Photo, Target } from './endpoint.ts';
import { photoName } from './faults.ts';
import { maxOf, minOf, ruleOf } from './images.ts';
import { endpoints } from './index.ts';
import {
  completeOptions,
  invalidOption,
  type MatchOptions,
  type OptionValue,
  type PackDefaults,
  readOption,
} from './options.ts';
import type { Warning } from './warnings.ts';

/** Position of an image in the body; `end` is exclusive. */
interface ByteRange {
  start: number;
  end: number;
}

export interface Form {
  /** The images to analyse, by field in the endpoint's order, then in the order sent. */
  images: ByteRange[];
  /** The field and index of each image, in the same order. */
  photos: Photo[];
  /** The target images, in the order sent; empty if the endpoint has none. */
  targets: Target[];
  /** Tokens that the server issued, by field. */
  tokens: ReadonlyMap<string, string>;
  options: MatchOptions;
  warnings: Warning[];
}

export type FormLimits = Pick<Config, 'max_parts' | 'max_field_bytes' | 'max_image_bytes'>;

/** Rules for the form of an endpoint, created once per endpoint. */
export class FormRules {
  readonly fields: Fields;
  readonly advanced: Fields;
  /** The images, in the order in which they are checked. */
  readonly images: readonly (readonly [name: string, rule: ImageRule])[];
  /** Names of the token fields. */
  readonly tokens: readonly string[];
  /** Names of all fields, including those of the advanced endpoint. */
  readonly names: readonly string[];
  /** Maximum number of parts with images in fields that may repeat. */
  readonly repeats: number;

  constructor({ fields, advanced = {} }: Pick<ImageEndpoint, 'fields' | 'advanced'>) {
    this.fields = fields;
    this.advanced = advanced;
    this.images = Object.entries(fields).flatMap(([name, rule]) =>
      rule.kind === 'image' ? [[name, rule] as const] : [],
    );
    this.tokens = Object.keys(fields).filter((name) => fields[name]!.kind === 'token');
    this.names = Object.keys({ ...fields, ...advanced });
    this.repeats = this.images.reduce((sum, [, { max = 0 }]) => sum + max, 0);
  }
}

interface SentImage extends Part {
  /** First bytes of the file, which usually contain its size in pixels. */
  head: Buffer;
}

/** Number of bytes that are searched for the size in pixels, enough for the metadata that cameras write before it. */
export const head_bytes = 256 * 1024;

/** Minimum number of bytes of a long text field that are decoded for the error message. */
const shown_bytes = 256;

/** A part of a form. The filename is as sent; it is only a label, never a path to open (RFC 7578, section 7). */
export interface Part extends ByteRange {
  name: string;
  filename: string | undefined;
}

/** Converts the parts of a body to a form. Throws Problem for the first error in their order. */
export function readForm(
  body: Buffer,
  parts: readonly Part[],
  rules: FormRules,
  limits: FormLimits,
  pack: PackDefaults,
): Form {
  const sent = new SentFields(rules, limits);
  for (const part of parts) {
    const { filename, start, end } = part;
    const { name, rule } = sent.claim(part.name);
    const text = () =>
      body.toString('utf8', start, Math.min(end, start + Math.max(limits.max_field_bytes, shown_bytes)));
    // A part with the name of an image field is an image, even without a filename.
    if (rule?.kind === 'image')
      sent.image({ ...part, name, head: body.subarray(start, Math.min(end, start + head_bytes)) });
    else if (rule?.kind === 'token')
      sent.setToken(name, body.toString('latin1', start, Math.min(end, start + rule.max + 1)));
    else if (rule !== undefined && end - start > limits.max_field_bytes)
      throw invalidOption(name, rule, text());
    else if (rule !== undefined) sent.setOption(name, readOption(name, rule, text()));
    // Browsers send a file input without a file as an empty part with an empty filename (HTML, section 4.10.21.4).
    else if (
      (filename !== undefined && (filename !== '' || end > start)) ||
      holdsImage(body.subarray(start, end))
    )
      throw sent.unknownFile(name);
    else if (filename !== undefined) sent.noteUnknown(name);
  }
  return sent.form(pack);
}

export class SentFields {
  readonly #rules: FormRules;
  readonly #limits: FormLimits;
  readonly #claimed = new Map<string, number>();
  readonly #images = new Map<string, SentImage[]>();
  readonly #options: Record<string, OptionValue> = {};
  readonly #tokens = new Map<string, string>();
  readonly #unknown = new Set<string>();
  readonly #strays = new Set<string>();

  constructor(rules: FormRules, limits: FormLimits) {
    this.#rules = rules;
    this.#limits = limits;
  }

  /**
   * Returns the field for a received name, and the field's rule (undefined for an unknown field). Counts the field,
   * and throws Problem if it was sent too often.
   */
  claim(sent: string): { name: string; rule: FieldRule | undefined } {
    const name = this.#fieldOf(sent);
    const rule = ruleOf(name, this.#rules.fields);
    const claimed = this.#claimed.get(name) ?? 0;
    const max = maxOf(rule);
    if (rule === undefined) this.#unknown.add(name);
    else if (claimed === max) {
      if (max === 1) throw new Problem('duplicate_field', { detail: `Send ${name} once.`, field: name });
      throw new Problem('too_many_images', {
        detail: `Send at most ${max} images as ${name}.`,
        limit: max,
      });
    }
    this.#claimed.set(name, claimed + 1);
    return { name, rule };
  }

  /** Returns the name of the field. For a repeatable field, also accepts names such as `image2[]` and `image2[0]`. */
  #fieldOf(sent: string): string {
    const name = /^(.+)\[\d{0,9}\]$/s.exec(sent)?.[1];
    return name !== undefined && maxOf(ruleOf(name, this.#rules.fields)) > 1 ? name : sent;
  }

  /**
   * Returns the problem for an unknown file. The file is not just ignored, because the client might assume that it
   * was compared.
   */
  unknownFile(name: string): Problem {
    const names = this.#rules.images.map(([image, { max }]) =>
      max === undefined ? image : `${image} (1 to ${max} times)`,
    );
    return new Problem('unknown_file', {
      detail: `This endpoint has no file field ${excerpt(name) || '""'}. Send images as ${names.join(' and ')}.`,
      field: shortName(name),
    });
  }

  image(image: SentImage): void {
    const sent = this.#images.get(image.name) ?? [];
    this.#images.set(image.name, sent);
    const rule = this.#rules.fields[image.name] as ImageRule;
    if (!rule.targets) this.#measure(image, rule.max === undefined ? undefined : sent.length);
    sent.push(image);
  }

  /** `value`: undefined for the default. */
  setOption(name: string, value: OptionValue | undefined): void {
    if (value !== undefined) this.#options[name] = value;
  }

  /** Stores the token. Its signature is checked later. */
  setToken(name: string, text: string): void {
    if (text !== '') this.#tokens.set(name, text);
  }

  /** Records an unknown field that may be a misnamed image. */
  noteUnknown(name: string): void {
    this.#strays.add(name);
  }

  /** Returns the form. Throws Problem if a token or an image is missing, or if the pack lacks a requested feature. */
  form(pack: PackDefaults): Form {
    const form: Form = {
      images: [],
      photos: [],
      targets: [],
      tokens: this.#tokens,
      options: completeOptions(this.#options, pack),
      warnings: [...this.#unknown].map((name) => unknownField(name, this.#rules)),
    };
    const lacking = this.#rules.tokens.find((name) => !this.#tokens.has(name));
    if (lacking !== undefined) {
      const detail = `Send the ${lacking} that the server issued in the field ${lacking}.`;
      throw new Problem('missing_field', { detail, field: lacking });
    }
    for (const [name, rule] of this.#rules.images) {
      const sent = this.#images.get(name) ?? [];
      if (sent.length === 0) throw missing(name, this.#strays);
      if (sent.length < minOf(rule)) throw tooFew(name, rule, sent.length);
      for (const [index, image] of sent.entries()) this.#add(form, image, index, rule);
    }
    return form;
  }

  /** Adds an image. An error in a target does not affect the others. */
  #add(form: Form, image: SentImage, index: number, { max, targets }: ImageRule): void {
    const { filename, name: field, start, end } = image;
    const add = () => {
      if (targets) this.#measure(image);
      if (end <= start) throw missing(field, undefined, max === undefined || targets ? undefined : index);
      form.photos.push({ field, index, filename });
      return form.images.push({ start, end }) - 1;
    };
    if (!targets) {
      add();
      return;
    }
    try {
      form.targets.push({ filename, image: add() });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      form.targets.push({ filename, image: error });
    }
  }

  /** `index`: position among the photos of one person. Throws Problem image_too_large. */
  #measure({ name, start, end, head }: SentImage, index?: number): void {
    const { max_image_bytes } = this.#limits;
    if (end - start <= max_image_bytes) return;
    const size = declaredSize(head);
    const pixels = size
      ? ` and ${size.width} × ${size.height} pixels, ${((size.width * size.height) / 1e6).toFixed(1)} megapixels`
      : '';
    throw new Problem('image_too_large', {
      detail: `Send a smaller image as ${photoName(name, index)}. It has ${end - start} bytes${pixels}; the maximum is ${max_image_bytes} bytes.`,
      limit_bytes: max_image_bytes,
      field: name,
      ...locationOf(name, 'image_too_large', index),
    });
  }
}

/** Returns the member `errors` for a problem with one of several photos. */
const locationOf = (field: string, code: ErrorCode, index: number | undefined) =>
  index === undefined ? {} : { errors: [{ field, code, index }] };

const known: Fields = Object.assign({}, ...endpoints.map((one) => ('fields' in one ? one.fields : {})));

function unknownField(field: string, { advanced }: FormRules): Warning {
  const detail = ruleOf(field, advanced)
    ? 'This endpoint ignored the field. Send it to the advanced endpoint.'
    : ruleOf(field, known)
      ? 'This endpoint ignored the field, because only other endpoints accept it.'
      : 'The field was ignored, because no endpoint has it. Check the spelling of its name.';
  return { code: 'unknown_field', field: shortName(field), detail };
}

function tooFew(field: string, rule: ImageRule, sent: number): Problem {
  const expected = `${minOf(rule)} to ${maxOf(rule)} images`;
  return new Problem('invalid_field', {
    detail: `Send ${expected} as ${field}, not ${sent}.`,
    field,
    expected,
  });
}

const maxNames = 4;

/** `strays`: unknown fields that may be misnamed images; `index`: position among the photos of one person. */
function missing(name: string, strays?: ReadonlySet<string>, index?: number): Problem {
  const names = [...(strays ?? [])].slice(0, maxNames).map((stray) => excerpt(stray) || '""');
  if ((strays?.size ?? 0) > maxNames) names.push('…');
  const instead =
    strays === undefined ? '; it is empty' : names.length > 0 ? `; you sent ${names.join(', ')}` : '';
  return new Problem('missing_field', {
    detail: `Send the bytes of an image as ${photoName(name, index)}${instead}.`,
    field: name,
    ...locationOf(name, 'missing_field', index),
  });
}
