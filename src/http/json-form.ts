import type { PictureEndpoint } from '../endpoints/endpoint.ts';
import { checkField } from '../endpoints/fields.ts';
import { Problem } from '../errors.ts';
import { type ChoicePack, mostTargets } from '../face/choices.ts';
import { decodedSize, decodeInPlace } from './base64.ts';
import { type Form, type FormLimits, SentFields } from './form.ts';
import { JsonScan } from './json-scan.ts';

/**
 * A form as JSON: an object with the form's fields, its pictures in base64, which is decoded where it lies. Throws Problem for the
 * first fault.
 */
export function readJsonForm(
  body: Buffer,
  taker: Pick<PictureEndpoint, 'fields' | 'advanced'>,
  limits: FormLimits,
  pack: ChoicePack,
): Form {
  const json = new JsonScan(body);
  const sent = new SentFields(taker, limits);
  const names = new Set<string>();
  const takePicture = (name: string) => {
    sent.image({ name, ...pictureOf(body, json, name, limits.max_image_bytes) });
  };
  if (json.peek() !== '{') {
    json.skip();
    json.end();
    throw invalidMember('', 'an object', 'the body');
  }
  json.object((name) => {
    if (names.has(name)) throw new Problem('duplicate_field', { detail: `Send ${name} once.`, field: name });
    if (names.size === limits.max_parts) {
      json.fail(undefined, `Send at most ${limits.max_parts} members; there are more at character`);
    }
    names.add(name);
    const rule = sent.claim(name);
    if (rule === undefined) json.skip();
    else if (rule.kind !== 'image') sent.choose(name, checkField(name, rule, json.scalar()));
    else if (!rule.several) takePicture(name);
    else if (json.peek() !== '[') throw invalidMember(name, `a list of 1 to ${mostTargets} pictures`);
    else {
      json.array(() => {
        sent.claim(name);
        takePicture(name);
      });
    }
  });
  json.end();
  return sent.form(pack);
}

const expected = 'a picture in base64, padded with = and without blanks';

function pictureOf(body: Buffer, json: JsonScan, name: string, most_bytes: number) {
  if (json.peek() !== '"') throw invalidMember(name, expected);
  const { start, end } = json.picture();
  const size = decodedSize(body, start, end);
  // Too large for its endpoint, and so not decoded; with escapes it is shorter.
  if (size > most_bytes && !body.subarray(start, end).includes('\\')) return { start, end: start + size };
  const decoded = decodeInPlace(body, start, end);
  if ('end' in decoded) return { start, end: decoded.end };
  const position = json.positionOf(decoded.wrong);
  const detail = `Send ${expected} as ${name}: character ${position} of the body is wrong.`;
  throw new Problem('invalid_field', { detail, field: name, expected, position });
}

function invalidMember(field: string, expected: string, name = field): Problem {
  return new Problem('invalid_field', { detail: `Send ${expected} as ${name}.`, field, expected });
}
