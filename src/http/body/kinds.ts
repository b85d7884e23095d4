import type { Config } from '../../config/config.ts';
import { JsonScan } from '../../engine/json-scan.ts';
import { Problem } from '../../errors.ts';
import type { Expected } from '../exchange.ts';

/** What a body may be: how long, of which type, and what is wrong with one whose end is unclear. */

const unclearEnd =
  'Send one Content-Length, or Transfer-Encoding: chunked, and not both: it is not clear where the body ends.';

export const tooLarge = (bytes: number, limit_bytes: number) =>
  new Problem('body_too_large', {
    detail: `Send smaller images: the body has ${bytes} bytes; at most ${limit_bytes} are taken.`,
    limit_bytes,
  });

export const malformedForm = new Problem('invalid_multipart', { detail: unclearEnd });
export const malformedJson = new Problem('invalid_json', { detail: unclearEnd, position: 0 });

/** Larger bodies are not read to see whether they have ended: that would take too long. */
const maxJsonLook_bytes = 1024 * 1024;

export const expectedJson: Expected = {
  malformed: malformedJson,
  isWhole: (bytes) => {
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
  },
};

/** Members of a JSON body besides its images. */
const jsonMembers_bytes = 64 * 1024;

/** Base64 makes four bytes of three: the same images fit in a form and in JSON. No more than one key may have in memory. */
export function bodyLimit(
  { max_body_bytes, max_upload_bytes }: Pick<Config, 'max_body_bytes' | 'max_upload_bytes'>,
  json: boolean,
): number {
  if (!json) return max_body_bytes;
  const share_bytes = Math.max(Math.floor(max_upload_bytes / 2), max_body_bytes);
  return Math.min(Math.ceil((max_body_bytes / 3) * 4) + jsonMembers_bytes, share_bytes);
}

export const isJson = (contentType = '') => /^application\/json\s*(?:;|$)/i.test(contentType.trim());
