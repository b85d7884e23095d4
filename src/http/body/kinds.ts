import type { Config } from '../../config/config.ts';
import { maxJson_bytes } from '../../endpoints/compare-embeddings.ts';
import { type Form, type FormRules, readForm } from '../../endpoints/form.ts';
import { readJsonForm } from '../../endpoints/json-form.ts';
import { JsonScan } from '../../engine/json-scan.ts';
import { Problem } from '../../errors.ts';
import type { Services } from '../context.ts';
import { boundaryOf, endsForm, parseMultipartInTurns } from './multipart.ts';

/** What an endpoint takes as its body: how long it may be, and who reads it. */

export interface Body<Sent> {
  /** Most bytes, declared or sent. */
  readonly limit_bytes: number;
  /** What a client whose body is larger can do. */
  readonly smaller: string;
  /** Thrown when it is not clear where the body ends. */
  readonly malformed: Problem;
  /** By Content-Type, empty where it is absent. Throws Problem unsupported_media_type or invalid_multipart. */
  reader(type: string): Reader<Sent>;
}

export interface Reader<Sent> {
  /** Whether these bytes are a whole body, although the transport waits for more: then it is refused soon. */
  isWhole(bytes: Buffer): boolean;
  /** Throws Problem, or rejects with it. */
  read(bytes: Buffer): Sent | Promise<Sent>;
}

type BodyLimits = Pick<Config, 'max_body_bytes' | 'max_upload_bytes'>;

const unclearEnd =
  'Send one Content-Length, or Transfer-Encoding: chunked, and not both: it is not clear where the body ends.';
export const malformedForm = new Problem('invalid_multipart', { detail: unclearEnd });
const malformedJson = new Problem('invalid_json', { detail: unclearEnd, position: 0 });

const fewerImages = 'Send smaller or fewer images, or ask the operator for more (FACEMATCH_MAX_BODY_BYTES)';

const isJson = (type = '') => /^application\/json\s*(?:;|$)/i.test(type.trim());

/** A form, or the same fields as members of an object, whichever Content-Type says. */
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
        read: async (bytes) => {
          const parts = await parseMultipartInTurns(bytes, boundary, partLimits);
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

/** JSON, which a worker reads. */
export function embeddingsBody({ max_body_bytes }: BodyLimits): Body<undefined> {
  return {
    limit_bytes: Math.min(maxJson_bytes, max_body_bytes),
    smaller: 'Send fewer embeddings',
    malformed: malformedJson,
    reader(type) {
      if (isJson(type)) return { isWhole: endsJson, read: () => undefined };
      throw new Problem('unsupported_media_type', { detail: 'Send the body as application/json.' });
    },
  };
}

/** Members of a JSON body besides its images. */
const jsonMembers_bytes = 64 * 1024;

/** Base64 makes four bytes of three: the same images fit in a form and in JSON. No more than one key may have in memory. */
export function jsonLimit({ max_body_bytes, max_upload_bytes }: BodyLimits): number {
  const share_bytes = Math.max(Math.floor(max_upload_bytes / 2), max_body_bytes);
  return Math.min(Math.ceil((max_body_bytes / 3) * 4) + jsonMembers_bytes, share_bytes);
}

/** Larger bodies are not read to see whether they have ended: that would take too long. */
const maxJsonLook_bytes = 1024 * 1024;

function endsJson(bytes: Buffer): boolean {
  if (bytes.length > maxJsonLook_bytes || bytes.at(-1) !== 0x7d) return false;
  // Bounded, unlike JSON.parse, which takes long for many values or levels.
  const json = new JsonScan(bytes);
  try {
    json.skip();
    json.end();
    return true;
  } catch {
    return false;
  }
}
