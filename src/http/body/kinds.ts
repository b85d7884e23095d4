import type { Config } from '../../config/config.ts';
import { maxJson_bytes } from '../../endpoints/compare-embeddings.ts';
import { type Form, type FormRules, readForm } from '../../endpoints/form.ts';
import { readJsonForm } from '../../endpoints/json-form.ts';
import { JsonScan } from '../../engine/json-scan.ts';
import { atOnce, type Steps } from '../../engine/turns.ts';
import { Problem } from '../../errors.ts';
import type { Services } from '../context.ts';
import { boundaryOf, endsForm, parseMultipart } from './multipart.ts';

/** Limits and parsers of the bodies of endpoints. */

export interface Body<Sent> {
  /** Maximum size in bytes, declared or sent. */
  readonly limit_bytes: number;
  /** Advice for a client whose body is too large. */
  readonly smaller: string;
  /** Thrown if the end of the body is ambiguous. */
  readonly malformed: Problem;
  /**
   * Returns the reader for a Content-Type; `type` is empty if there is none. Throws Problem unsupported_media_type
   * or invalid_multipart.
   */
  reader(type: string): Reader<Sent>;
}

export interface Reader<Sent> {
  /**
   * Returns true if these bytes are a complete body. If the transport waits for more bytes, the request is rejected
   * early.
   */
  isWhole(bytes: Buffer): boolean;
  /** Parses the body. Throws Problem. */
  read(bytes: Buffer): Steps<Sent>;
}

type BodyLimits = Pick<Config, 'max_body_bytes' | 'upload_memory_bytes'>;

const unclearEnd =
  'The end of the body is ambiguous. Send either one Content-Length or Transfer-Encoding: chunked, not both.';
export const malformedForm = new Problem('invalid_multipart', { detail: unclearEnd });
const malformedJson = new Problem('invalid_json', { detail: unclearEnd, position: 0 });

const fewerImages =
  'Send smaller or fewer images, or ask the operator for a higher limit (FACEMATCH_MAX_BODY_BYTES)';

const isJson = (type = '') => /^application\/json\s*(?:;|$)/i.test(type.trim());

/** Returns the body format for images by Content-Type: a form, or JSON with the same fields. */
export function imagesBody(rules: FormRules, services: Services): (type: string | undefined) => Body<Form> {
  const { config } = services;
  const partLimits = {
    parts: config.max_parts + rules.repeats,
    header_bytes: config.max_part_header_bytes,
  };
  const form: Body<Form> = {
    limit_bytes: config.max_body_bytes,
    smaller: fewerImages,
    malformed: malformedForm,
    reader(type) {
      const boundary = boundaryOf(type);
      if (boundary === undefined) throw new Problem('unsupported_media_type');
      return {
        isWhole: (bytes) => endsForm(bytes, boundary),
        *read(bytes) {
          const parts = yield* parseMultipart(bytes, boundary, partLimits);
          return readForm(bytes, parts, rules, config, services.manifest);
        },
      };
    },
  };
  const json: Body<Form> = {
    limit_bytes: jsonLimit(config),
    smaller: fewerImages,
    malformed: malformedJson,
    reader: () => ({
      isWhole: endsJson,
      read: (bytes) =>
        readJsonForm(bytes, rules, config, services.manifest, services.engine.addon.decodeBase64),
    }),
  };
  return (type) => (isJson(type) ? json : form);
}

// biome-ignore lint/correctness/useYield: a worker parses the body
function* readNothing(): Steps<undefined> {
  return undefined;
}

/** Returns the body format for embeddings: JSON that a worker parses. */
export function embeddingsBody({ max_body_bytes }: BodyLimits): Body<undefined> {
  return {
    limit_bytes: Math.min(maxJson_bytes, max_body_bytes),
    smaller: 'Send fewer embeddings',
    malformed: malformedJson,
    reader(type) {
      if (isJson(type)) return { isWhole: endsJson, read: readNothing };
      throw new Problem('unsupported_media_type', { detail: 'Send the body as application/json.' });
    },
  };
}

/** Maximum size of the members of a JSON body besides its images. */
const jsonMembers_bytes = 64 * 1024;

/**
 * Returns the maximum size of a JSON body. Base64 encodes three bytes as four, so JSON may contain the same images
 * as a form. The limit never exceeds the memory of one key.
 */
export function jsonLimit({ max_body_bytes, upload_memory_bytes }: BodyLimits): number {
  const share_bytes = Math.max(Math.floor(upload_memory_bytes / 2), max_body_bytes);
  return Math.min(Math.ceil((max_body_bytes / 3) * 4) + jsonMembers_bytes, share_bytes);
}

/** Maximum size of a JSON body that is checked for completeness. */
const maxJsonCheck_bytes = 1024 * 1024;

/**
 * Maximum number of bytes that are checked for completeness per second, so that slow uploads do not keep the main
 * thread busy. Further bodies count as incomplete, and get 408 later.
 */
const maxCheckedPerSecond_bytes = 4 * 1024 * 1024;

let checked = { bytes: 0, since_ms: 0 };

function endsJson(bytes: Buffer): boolean {
  if (bytes.length > maxJsonCheck_bytes || bytes.at(-1) !== 0x7d) return false;
  const now_ms = performance.now();
  if (now_ms - checked.since_ms > 1000) checked = { bytes: 0, since_ms: now_ms };
  checked.bytes += bytes.length;
  if (checked.bytes > maxCheckedPerSecond_bytes) return false;
  // JsonScan has limits. JSON.parse takes long for many values or levels.
  const json = new JsonScan(bytes);
  try {
    atOnce(json.skip());
    json.end();
    return true;
  } catch {
    return false;
  }
}
