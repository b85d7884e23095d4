// Generates request bodies: valid and damaged forms and JSON, and random bytes.
import { form } from '../../test/support/load.mjs';

/** Each function returns the replacement for `rest`, the bytes after a random position. */
const changes = [
  (rest, random) => new Uint8Array(rest).fill(rest[0] ^ (1 << random.below(8)), 0, 1),
  // Writes values at which lengths and signs overflow.
  (rest, random) =>
    new Uint8Array(rest).fill(random.pick([0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff]), 0, 1 + random.below(8)),
  () => Buffer.alloc(0),
  (rest, random) => rest.subarray(1 + random.below(64)),
  (rest, random) => Buffer.concat([random.bytes(1 + random.below(64)), rest]),
  (rest, random) => Buffer.concat([rest.subarray(0, random.below(256)), rest]),
];

/** Applies one to four random changes. */
export function mutate(bytes, random) {
  let mutated = bytes;
  for (let count = 1 + random.below(4); count > 0; count--) {
    const at = random.below(mutated.length + 1);
    mutated = Buffer.concat([mutated.subarray(0, at), random.pick(changes)(mutated.subarray(at), random)]);
  }
  return mutated;
}

/** An image that is cheap to reject, for requests that test the form parser and not the decoder. */
const notAnImage = Buffer.from('this is not an image');
const plain = { image1: notAnImage, image2: notAnImage };

// biome-ignore format: a list of words
const values = [
  '', ' ', '0', '-1', '-0', '+1', '1.5', '1e2', '1e309', 'NaN', 'Infinity', '-Infinity', '0x10', '٣', '100.0000001', 'true',
  'TRUE', 'yes', 'fast', 'balance ', 'null', '9'.repeat(1000), '9'.repeat(1025), '\0', '70\r\n', '\u{1f600}', '1_0', '1,5',
];
// biome-ignore format: a list of words
const names = [
  'threshold_percent', 'image1_face_index', 'image2_face_index', 'accuracy_mode', 'use_heuristic_fallback', 'min_det_score',
  'auto_pair_best', 'reject_low_quality', 'detect_presentation_attack', 'unknown', '__proto__', 'constructor', 'toString', 'image1', 'image2', 'Image1', '',
];

export const goodForm = (random, world) => {
  const fields = { image1: random.pick(world.good), image2: random.pick(world.good) };
  return form(
    random.chance(0.5) ? fields : { image2: fields.image2, threshold_percent: '50', image1: fields.image1 },
  );
};

/** Returns a form with one or two damaged images. */
export const damagedForm = (random, world) => {
  const damaged = () => {
    const file = random.pick(world.damaged);
    return random.chance(0.5) ? file : mutate(file, random);
  };
  const other = random.chance(0.3) ? damaged() : random.pick(world.good);
  return form(
    random.chance(0.5) ? { image1: damaged(), image2: other } : { image1: other, image2: damaged() },
  );
};

/** Returns a form with a mutated valid image. Most mutations are in the image's header. */
export const mutatedImageForm = (random, world) => {
  const good = random.pick(world.good);
  const end = random.chance(0.6) ? 700 : good.length;
  const image1 = Buffer.concat([mutate(good.subarray(0, end), random), good.subarray(end)]);
  return form({ image1, image2: notAnImage });
};

export const oddFields = (random) => {
  const fields = { ...plain };
  for (let count = 1 + random.below(5); count > 0; count--) {
    const name = random.pick(names);
    fields[name] = random.chance(0.2) ? [random.pick(values), random.pick(values)] : random.pick(values);
  }
  return form(fields);
};

/** Returns the members of a form as JSON, some with a wrong type. Half of the bodies are also damaged. */
export const oddJson = (random, world) => {
  const base64 = (bytes) => bytes.toString('base64').replaceAll('/', random.chance(0.5) ? '/' : '\\/');
  const photo = () => base64(random.chance(0.1) ? random.pick(world.good) : notAnImage);
  const other = () => random.pick([random.pick(values), true, null, 70, -1, 0.5, [], {}, [[{ a: photo() }]]]);
  const second = random.chance(0.6) ? photo() : Array.from({ length: random.below(19) }, photo);
  const members = [
    ['image1', photo()],
    ['image2', second],
  ];
  for (let count = random.below(4); count > 0; count--) members.push([random.pick(names), other()]);
  const text = members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join();
  // Undoes the second escape of the slashes, which JSON.stringify added.
  const body = Buffer.from(`{${text.replaceAll('\\\\/', '\\/')}}`);
  return random.chance(0.5) ? mutate(body, random) : body;
};

/** Returns a form with one image, valid or damaged, and sometimes a random field. */
export const oneImage = (random, world) => {
  const image = random.chance(0.3) ? random.pick(world.good) : mutate(random.pick(world.damaged), random);
  return form({ image, ...(random.chance(0.5) && { [random.pick(names)]: random.pick(values) }) });
};

/** Returns a form with one image and up to eighteen others, two more than the limit. Most of them are not images. */
export const manyTargets = (random, world) => {
  const target = () =>
    random.weighted([
      [notAnImage, 6],
      [random.pick(world.damaged), 3],
      [random.pick(world.good), 1],
      [Buffer.alloc(0), 1],
    ]);
  const image1 = random.chance(0.7) ? random.pick(world.good) : random.pick(world.damaged);
  return form({ image1, image2: Array.from({ length: random.below(19) }, target), accuracy_mode: 'fast' });
};

// biome-ignore format: a list of words
const members = [
  'embedding', 'embeddings', 'candidates', 'pack', 'version', 'accuracy_mode', 'threshold_percent', 'min_agreement_percent', 'searched',
  'min_percent', 'limit', '__proto__', 'toString', '',
];
// biome-ignore format: a list of words
const things = [
  null, true, -1, 1.5, 1e308, '', '0', [], {}, [[]], [null], ['AAAA'], [{ id: 1 }], 'AAAA', 'A'.repeat(2732), '\ud800',
];

/** Returns a body for match/embeddings with damaged members or bytes, or with deep nesting. */
export const oddEmbeddingsRequest = (random, world) => {
  if (random.chance(0.05))
    return Buffer.from(random.pick(['[', '{"a":', '[{"a":']).repeat(1 + random.below(100_000)));
  const request = structuredClone(world.request);
  for (let count = random.below(4); count > 0; count--) {
    const candidate = request.candidates?.[random.below(3)];
    const [owner, name] =
      candidate instanceof Object && random.chance(0.3)
        ? [candidate, random.pick(['id', 'embedding', 'embeddings'])]
        : [request, random.pick(members)];
    // An assignment to __proto__ would not create a member with that name.
    Object.defineProperty(owner, name, { value: random.pick(things), enumerable: true, configurable: true });
  }
  const bytes = Buffer.from(JSON.stringify(request));
  return random.chance(0.4) ? mutate(bytes, random) : bytes;
};

export const mutatedForm = (random) => mutate(form({ ...plain, threshold_percent: '70' }), random);

export const noise = (random) => random.bytes(random.below(3000));
