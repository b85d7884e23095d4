import type { Config } from '../../config/config.ts';
import { maxJson_bytes } from '../../endpoints/compare-embeddings.ts';
import { type Form, type FormRules, readForm } from '../../endpoints/form.ts';
import { readJsonForm } from '../../endpoints/json-form.ts';
import { JsonScan } from '../../engine/json-scan.ts';
import { atOnce, type Steps } from '../../engine/turns.ts';
import { Problem } from '../../errors.ts';
import type { Services } from '../context.ts';
import { boundaryOf, endsForm, parseMultipart } from './multipart.ts';

/** The body of an endpoint: its maximum size, and how it is parsed. */

export interface Body<Sent> {
  /** Maximum number of bytes, declared or sent. */
  readonly limit_bytes: number;
  /** Advice for a client whose body is too large. */
  readonly smaller: string;
  /** Thrown if the end of the body is ambiguous. */
  readonly malformed: Problem;
  /**
   * Chosen by Content-Type, which is empty if absent. Throws Problem unsupported_media_type or
   * invalid_multipart.
   */
  reader(type: string): Reader<Sent>;
}

export interface Reader<Sent> {
  /**
   * Returns true if these bytes are a whole body although the transport waits for more: the request is then
   * rejected early.
   */
  isWhole(bytes: Buffer): boolean;
  /** Throws Problem. */
  read(bytes: Buffer): Steps<Sent>;
}

type BodyLimits = Pick<Config, 'max_body_bytes' | 'upload_memory_bytes'>;

const unclearEnd =
  'Send one Content-Length, or Transfer-Encoding: chunked, and not both: it is not clear where the body ends.';
export const malformedForm = new Problem('invalid_multipart', { detail: unclearEnd });
const malformedJson = new Problem('invalid_json', { detail: unclearEnd, position: 0 });

const fewerImages = 'Send smaller or fewer images, or ask the operator for more (FACEMATCH_MAX_BODY_BYTES)';

const isJson = (type = '') => /^application\/json\s*(?:;|$)/i.test(type.trim());

/** A form, or the same fields as JSON members, depending on Content-Type. */
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

// biome-ignore lint/correctness/useYield: there is nothing to do
function* readNothing(): Steps<undefined> {
  return undefined;
}

/** JSON that a worker parses. */
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

/** Maximum number of members of a JSON body besides its images. */
const jsonMembers_bytes = 64 * 1024;

/**
 * Base64 makes four bytes of three, so this accepts the same images in JSON as in a form. At most the memory
 * of one key.
 */
export function jsonLimit({ max_body_bytes, upload_memory_bytes }: BodyLimits): number {
  const share_bytes = Math.max(Math.floor(upload_memory_bytes / 2), max_body_bytes);
  return Math.min(Math.ceil((max_body_bytes / 3) * 4) + jsonMembers_bytes, share_bytes);
}

/** Larger bodies are not checked for completeness, because that would take too long. */
const maxJsonCheck_bytes = 1024 * 1024;

/**
 * Maximum number of bytes that are checked in a second. Further bodies count as incomplete, so that many slow
 * uploads do not keep the main thread busy; their clients get the same 408 later.
 */
const looksPerSecond_bytes = 4 * 1024 * 1024;

let looked = { bytes: 0, since_ms: 0 };

function endsJson(bytes: Buffer): boolean {
  if (bytes.length > maxJsonCheck_bytes || bytes.at(-1) !== 0x7d) return false;
  const now_ms = performance.now();
  if (now_ms - looked.since_ms > 1000) looked = { bytes: 0, since_ms: now_ms };
  looked.bytes += bytes.length;
  if (looked.bytes > looksPerSecond_bytes) return false;
  // Uses limits, unlike JSON.parse, which takes long for many values or levels.
  const json = new JsonScan(bytes);
  try {
    atOnce(json.skip());
    json.end();
    return true;
  } catch {
    return false;
  }
}
