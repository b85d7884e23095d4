import { DelimiterSearch } from './multipart-delimiter.ts';
import { MultipartError } from './multipart-error.ts';
import { parsePartHeaders } from './multipart-headers.ts';
import { bchars, parseParameters, tokenEnd, trimSpace } from './multipart-parameters.ts';

/**
 * multipart/form-data (RFC 7578) over a whole body in one buffer: a cursor, native search, and no copy of any
 * part's bytes. Strict wherever two parsers could read two different forms out of one body.
 */

export { MultipartError, type MultipartReason } from './multipart-error.ts';

export interface MultipartLimits {
  /** Most parts that a form may have. */
  parts: number;
  /**
   * Most bytes that the header lines of one part may take, line ends counted, the empty line after them not.
   */
  header_bytes: number;
}

/** One field of the form; its body is the bytes from `start` up to, not including, `end`. */
export interface Part {
  name: string;
  /** As sent: a label to show, never a path to open (RFC 7578 §7). */
  filename: string | undefined;
  /** As declared, with its parameters; never a proof. */
  content_type: string | undefined;
  start: number;
  end: number;
}

/** RFC 2046 §5.1.1 */
const LONGEST_BOUNDARY = 70;

/**
 * The boundary that a Content-Type header declares; undefined when its media type is not multipart/form-data.
 * Throws MultipartError when it is, but the boundary is missing or malformed.
 */
export function boundaryOf(contentType: string): string | undefined {
  const header = trimSpace(contentType);
  const slash = tokenEnd(header, 0);
  const typeEnd = header[slash] === '/' ? tokenEnd(header, slash + 1) : slash;
  // RFC 2045 §5.1: media types do not care about case; RFC 2046 §5.1.1: boundaries do.
  if (header.slice(0, typeEnd).toLowerCase() !== 'multipart/form-data') return undefined;

  const refuse = (words: string, at: number) =>
    new MultipartError('bad_boundary', `In the Content-Type header, ${words}`, at);
  const boundary = parseParameters(header, typeEnd, { escapes: 'any', refuse }).get('boundary');
  if (boundary === undefined) {
    throw new MultipartError('missing_boundary', 'The Content-Type header has no boundary', header.length);
  }
  if (boundary.length < 1 || boundary.length > LONGEST_BOUNDARY) {
    throw refuse(`the boundary is not 1 to ${LONGEST_BOUNDARY} characters long`, typeEnd);
  }
  for (const char of boundary) {
    if (!bchars.has(char)) throw refuse('the boundary has a character that it may not have', typeEnd);
  }
  if (boundary.endsWith(' ')) throw refuse('the boundary ends with a blank', typeEnd);
  return boundary;
}

/**
 * The parts of a form in the order they were sent; none is a form without fields, which browsers send as a
 * closing boundary alone. `boundary` comes from `boundaryOf`. Throws MultipartError, and nothing else,
 * whatever the bytes.
 */
export function parseMultipart(body: Buffer, boundary: string, limits: MultipartLimits): Part[] {
  const delimiters = new DelimiterSearch(body, boundary);
  const parts: Part[] = [];
  let delimiter = delimiters.first();
  while (!delimiter.closes) {
    if (parts.length === limits.parts) {
      throw new MultipartError('too_many_parts', `There are more than ${limits.parts} parts`, delimiter.end);
    }
    const { end: start, ...headers } = parsePartHeaders(body, delimiter.end, limits.header_bytes);
    // RFC 2046 §5.1.1, `body-part := MIME-part-headers [CRLF *OCTET]`: of a part without a body, the line end
    // of the empty line is already the one that the delimiter begins with.
    delimiter = delimiters.after(start - 2);
    parts.push({ ...headers, start: Math.min(start, delimiter.start), end: delimiter.start });
  }
  return parts;
}
