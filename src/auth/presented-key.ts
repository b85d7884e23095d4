import { keyId } from './keys.ts';

/** No text that could be a key: it is refused as one that is wrong. */
const contradictory = 'two keys';

/**
 * The key that a request presents: `x-api-key`, or the token of `Authorization: Bearer` (RFC 6750 section 2.1), whose scheme is
 * written in any case. Beside `x-api-key`, a token without the form of a key belongs to somebody else, such as a gateway, and is
 * ignored; one that could be another key makes none of both. Undefined where there is no key.
 */
export function presentedKey(headers: ReadonlyMap<string, string>): string | undefined {
  const key = headers.get('x-api-key') || undefined;
  const bearer = /^bearer +(.+)$/i.exec(headers.get('authorization') ?? '')?.[1];
  if (key === undefined || bearer === undefined) return key ?? bearer;
  return key === bearer || keyId(bearer) === undefined ? key : contradictory;
}
