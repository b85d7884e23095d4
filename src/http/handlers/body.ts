import { Problem } from '../../errors.ts';
import type { Context } from '../context.ts';

/**
 * What is judged before a body is read, in the contract's order: what cannot be served must not be uploaded. `malformed` is
 * thrown where it is not clear where the body ends; `typeOf` judges the declared type. Throws Problem.
 */
export function judgeHead<T>(
  { services, exchange }: Context,
  limit_bytes: number,
  malformed: Problem,
  typeOf: (contentType: string) => T,
): T {
  if (services.readiness.stage !== 'ready') throw new Problem('not_ready');
  if (services.engine.full) throw new Problem('overloaded');
  const { framing, headers } = exchange.request;
  const declared = headers.get('content-length') ?? '';
  if (/^\d+$/.test(declared) && Number(declared) > limit_bytes) {
    throw new Problem('body_too_large', { limit_bytes });
  }
  if (framing === 'unclear') throw malformed;
  // RFC 9110 section 8.4: a coding that the server does not accept is 415.
  const coding = headers.get('content-encoding');
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    throw new Problem('unsupported_media_type', { detail: 'Send the body without Content-Encoding.' });
  }
  return typeOf(headers.get('content-type') ?? '');
}

/** To be called before the first await: µWS drops a body that nobody has asked for. */
export function receiveBody(context: Context, limit_bytes: number): Promise<Buffer> {
  const { services, exchange } = context;
  const { content_length, peer } = exchange.request;
  context.upload ??= services.uploads.open(context.key_id ?? peer, content_length, limit_bytes);
  return exchange.receive(context.upload);
}

export const unclearEnd =
  'Send one Content-Length, or Transfer-Encoding: chunked, and not both: it is not clear where the body ends.';
