import type { ImageEndpoint } from '../../endpoints/endpoint.ts';
import { kinds } from '../../engine/detected.ts';
import { maxTargets, type PackDefaults, readOption } from '../../engine/match-options.ts';
import { kindOfText } from '../../engine/not-an-image.ts';
import { Problem, printable, sentWords } from '../../errors.ts';
import { decodedSize, decodeInPlace } from './base64.ts';
import { type Form, type FormLimits, SentFields } from './form.ts';
import { JsonScan } from './json-scan.ts';

/**
 * A form as JSON: an object with the form's fields, its pictures in base64, which is decoded where it lies. A choice that is null
 * is absent. Throws Problem for the first fault.
 */
export function readJsonForm(
  body: Buffer,
  taker: Pick<ImageEndpoint, 'fields' | 'advanced'>,
  limits: FormLimits,
  pack: PackDefaults,
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
    throw new Problem('invalid_field', {
      detail: 'Send an object as the body.',
      field: '',
      expected: 'an object',
    });
  }
  json.object((name) => {
    if (names.has(name)) throw new Problem('duplicate_field', { detail: `Send ${name} once.`, field: name });
    if (names.size === limits.max_parts) {
      json.fail(undefined, `Send at most ${limits.max_parts} members; there are more at character`);
    }
    names.add(name);
    const rule = sent.claim(name);
    if (rule === undefined) {
      if ('"[{'.includes(json.peek())) sent.stray(name);
      json.skip();
    } else if (rule.kind !== 'image') sent.choose(name, readOption(name, rule, json.scalar()));
    else if (!rule.several) takePicture(name);
    else if (json.peek() !== '[') {
      throw invalidMember(name, `a list of 1 to ${maxTargets} pictures`, body, json);
    } else {
      json.array(() => {
        sent.claim(name);
        takePicture(name);
      });
    }
  });
  json.end();
  return sent.form(pack);
}

const expected = 'a picture in base64 without blanks';

function pictureOf(body: Buffer, json: JsonScan, name: string, most_bytes: number) {
  if (json.peek() !== '"') throw invalidMember(name, expected, body, json);
  const { start, end } = json.picture();
  const size = decodedSize(body, start, end);
  // Too large for its endpoint, and so not decoded; with escapes it is shorter.
  if (size > most_bytes && !body.subarray(start, end).includes('\\')) return { start, end: start + size };
  const beginning = beginningOf(body, start, end);
  const decoded = decodeInPlace(body, start, end);
  if ('end' in decoded) return { start, end: decoded.end };
  const position = json.positionOf(decoded.wrong);
  const detail = `Send ${expected} as ${name}, not ${printable(beginning, '"')}: character ${position} of the body is wrong.`;
  throw new Problem('invalid_field', {
    detail: `${detail}${base64Advice(beginning)}`,
    field: name,
    expected,
    position,
  });
}

/** More than a detail repeats. */
const beginningOf = (body: Buffer, start: number, end: number) =>
  body.toString('utf8', start, Math.min(end, start + 256));

/** What to do about text that is no base64, where it tells what it is. */
function base64Advice(beginning: string): string {
  const { detected } = kindOfText(beginning);
  return detected === 'data_url' || detected === 'url' || detected === 'path'
    ? ` ${kinds[detected].advice}`
    : '';
}

/** A member of the wrong type, which is read. */
function invalidMember(field: string, expected: string, body: Buffer, json: JsonScan): Problem {
  const sent = json.peek() === '"' ? textOf(body, json) : json.scalar();
  return new Problem('invalid_field', {
    detail: `Send ${expected} as ${field}, not ${sentWords(sent)}.`,
    field,
    expected,
  });
}

/** How a text begins, which may be a whole picture. */
function textOf(body: Buffer, json: JsonScan): string {
  const { start, end } = json.picture();
  return beginningOf(body, start, end);
}
