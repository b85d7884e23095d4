// What is asked. A scenario is a list of requests that every client sends in turn, each client from another place in it.
import { readFileSync } from 'node:fs';
import { content_type, form } from '../lib/form.mjs';
import { Random } from '../lib/random.mjs';
import { kindsOfPictures, pairsOf } from './pictures.mjs';

export const path = '/API/v1.0/face/match/upload/advanced';

/** Of forty requests; a service's callers mostly send small pictures. */
const mixture = { small: 24, card: 10, photo: 5, phone: 1 };

const formsOf = async (kind, mode) =>
  (await pairsOf(kind)).pairs.map(({ same, files: [first, second] }) => {
    const pictures = { image1: readFileSync(first), image2: readFileSync(second) };
    return { same, body: form({ ...pictures, accuracy_mode: mode }).body };
  });

async function mixed(mode) {
  const forms = {};
  for (const kind of Object.keys(mixture)) forms[kind] = await formsOf(kind, mode);
  const random = new Random(1);
  return Object.entries(mixture)
    .flatMap(([kind, count]) => Array.from({ length: count }, (_, i) => forms[kind][i % forms[kind].length]))
    .map((request) => ({ request, order: random.next() }))
    .sort((a, b) => a.order - b.order)
    .map(({ request }) => request);
}

async function wrongKeys() {
  const [{ body }] = await formsOf('small', 'fast');
  return [{ body, headers: { 'x-api-key': `fm_${'0'.repeat(12)}_${'x'.repeat(43)}` } }];
}

async function wrongForms() {
  const [{ files }] = (await pairsOf('small')).pairs;
  return [{ body: form({ image1: readFileSync(files[0]) }).body }];
}

/** `expects`: statuses that count. `most_clients`: more would hold more memory than the comparison is worth. */
export const scenarios = {
  small: { what: 'two JPEGs of 250 pixels', requests: (mode) => formsOf('small', mode), expects: [200] },
  card: { what: 'two JPEGs of 640×480', requests: (mode) => formsOf('card', mode), expects: [200] },
  photo: { what: 'two JPEGs of 1350 pixels', requests: (mode) => formsOf('photo', mode), expects: [200] },
  phone: {
    what: 'two JPEGs of 12 megapixels, 4 MB each',
    requests: (mode) => formsOf('phone', mode),
    expects: [200],
    most_clients: 32,
  },
  mixed: {
    what: `${Object.entries(mixture)
      .map(([kind, count]) => `${count} ${kind}`)
      .join(', ')} of 40`,
    requests: mixed,
    expects: [200],
    most_clients: 32,
  },
  // An address that goes on guessing is answered 429 after a while, by the same check.
  'refused-key': { what: 'a wrong key, with a small form', requests: wrongKeys, expects: [401, 429] },
  'refused-form': { what: 'a right key, a form without image2', requests: wrongForms, expects: [400] },
};

/** Makes the pictures of all scenarios. Answers where those of each kind are from. */
export async function preparePictures(kinds = kindsOfPictures) {
  const sources = {};
  for (const kind of kinds) sources[kind] = (await pairsOf(kind)).source;
  return sources;
}

/** Kinds of pictures that a scenario sends. */
export const kindsIn = (scenario) =>
  scenario === 'mixed' ? Object.keys(mixture) : scenario.startsWith('refused') ? ['small'] : [scenario];

/** Each as the bytes of a whole HTTP/1.1 request: { bytes, body, same }; `same` is what a match should answer. */
export async function requestsOf(scenario, { mode, key, address }) {
  const { host } = new URL(address);
  return (await scenarios[scenario].requests(mode)).map(({ body, same, headers }) => {
    const fields = {
      host,
      'x-api-key': key,
      'content-type': content_type,
      'content-length': body.length,
      ...headers,
    };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    return { bytes: Buffer.concat([head, body]), body, same };
  });
}
