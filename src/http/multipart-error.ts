/** What can be wrong with a form, as one word for programs; the message says it for people. */
export type MultipartReason =
  | 'missing_boundary'
  | 'bad_boundary'
  | 'truncated'
  | 'bad_line_end'
  | 'bad_header'
  | 'header_too_large'
  | 'missing_disposition'
  | 'not_form_data'
  | 'missing_name'
  | 'bad_transfer_encoding'
  | 'too_many_parts';

/**
 * The body is not a well-formed form. The message never repeats what the client sent, so it can be shown and
 * logged.
 */
export class MultipartError extends Error {
  readonly reason: MultipartReason;
  /**
   * Offset of the fault in the body; in the Content-Type header for `missing_boundary` and `bad_boundary`.
   */
  readonly at: number;

  constructor(reason: MultipartReason, words: string, at: number) {
    super(`${words} (at byte ${at})`);
    this.name = 'MultipartError';
    this.reason = reason;
    this.at = at;
  }
}
