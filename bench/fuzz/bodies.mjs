// Bodies: valid forms, nearly valid forms and other bytes; and ways to damage bytes.
import { boundary, form } from '../../test/support/load.mjs';

const flip = (bytes, random) => {
  const spoilt = Buffer.from(bytes);
  for (let count = 1 + random.below(16); count > 0 && spoilt.length > 0; count--) {
    spoilt[random.below(spoilt.length)] ^= 1 << random.below(8);
  }
  return spoilt;
};

const overwrite = (bytes, random) => {
  const spoilt = Buffer.from(bytes);
  // The values at which lengths and signs overflow.
  const value = random.pick([0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff]);
  const at = random.below(spoilt.length + 1);
  return spoilt.fill(value, at, Math.min(spoilt.length, at + 1 + random.below(8)));
};

const cut = (bytes, random) => bytes.subarray(0, random.below(bytes.length + 1));

const remove = (bytes, random) => {
  const at = random.below(bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random.below(64))]);
};

const insert = (bytes, random) => {
  const at = random.below(bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, at), random.bytes(1 + random.below(64)), bytes.subarray(at)]);
};

const repeat = (bytes, random) => {
  const at = random.below(bytes.length + 1);
  const end = at + random.below(256);
  return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
};

const ways = [flip, overwrite, cut, remove, insert, repeat];

/** Applies one to three of them. */
export function mutate(bytes, random) {
  let spoilt = bytes;
  for (let count = 1 + random.below(3); count > 0; count--) spoilt = random.pick(ways)(spoilt, random);
  return spoilt;
}

/** Damages only the first `length` bytes, where headers are. */
export function mutateStart(bytes, length, random) {
  return Buffer.concat([mutate(bytes.subarray(0, length), random), bytes.subarray(length)]);
}

/** Cheap to refuse: these requests test the form, not the decoder. */
const notAPicture = Buffer.from('this is not a picture');
const plain = { image1: notAPicture, image2: notAPicture };

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

/** One picture is damaged, sometimes both. */
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

/** A valid picture with damage, mostly in its headers. */
export const sufferedForm = (random, world) => {
  const good = random.pick(world.good);
  const suffered = random.chance(0.6) ? mutateStart(good, 700, random) : mutate(good, random);
  return form({ image1: suffered, image2: notAPicture });
};

export const oddFields = (random) => {
  const fields = { ...plain };
  for (let count = 1 + random.below(5); count > 0; count--) {
    const name = random.pick(names);
    fields[name] = random.chance(0.2) ? [random.pick(values), random.pick(values)] : random.pick(values);
  }
  return form(fields);
};

/** Members of a form as JSON, now and then of the wrong type, with damage to the text in half of them. */
export const oddJson = (random, world) => {
  const base64 = (bytes) => bytes.toString('base64').replaceAll('/', random.chance(0.5) ? '/' : '\\/');
  const picture = () => base64(random.chance(0.1) ? random.pick(world.good) : notAPicture);
  const other = () =>
    random.pick([random.pick(values), true, null, 70, -1, 0.5, [], {}, [[{ a: picture() }]]]);
  const members = [['image1', picture()]];
  members.push([
    'image2',
    random.chance(0.6) ? picture() : Array.from({ length: random.below(19) }, picture),
  ]);
  for (let count = random.below(4); count > 0; count--) members.push([random.pick(names), other()]);
  const text = members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join();
  // The escape of a slash was escaped once more.
  const body = Buffer.from(`{${text.replaceAll('\\\\/', '\\/')}}`);
  return random.chance(0.5) ? mutate(body, random) : body;
};

/** One picture, valid or not, with fields that most endpoints do not have. */
export const onePicture = (random, world) => {
  const image = random.chance(0.3) ? random.pick(world.good) : mutate(random.pick(world.damaged), random);
  return form({ image, ...(random.chance(0.5) && { [random.pick(names)]: random.pick(values) }) });
};

/** One against up to eighteen, two more than the limit; most of them are not pictures. */
export const manyTargets = (random, world) => {
  const target = () =>
    random.weighted([
      [notAPicture, 6],
      [random.pick(world.damaged), 3],
      [random.pick(world.good), 1],
      [Buffer.alloc(0), 1],
    ]);
  const image1 = random.chance(0.7) ? random.pick(world.good) : random.pick(world.damaged);
  return form({ image1, image2: Array.from({ length: random.below(19) }, target), accuracy_mode: 'fast' });
};

// biome-ignore format: a list of words
const members = [
  'embedding', 'candidates', 'pack', 'version', 'accuracy_mode', 'threshold_percent', 'searched', 'min_percent', 'limit', '__proto__', 'toString', '',
];
const things = [
  null,
  true,
  -1,
  1.5,
  1e308,
  '',
  '0',
  [],
  {},
  [[]],
  [null],
  [{ id: 1 }],
  'AAAA',
  'A'.repeat(2732),
  '\ud800',
];

/** A body for match/embeddings with damaged members or bytes, or nested deeply. */
export const oddQuestion = (random, world) => {
  if (random.chance(0.05))
    return Buffer.from(random.pick(['[', '{"a":', '[{"a":']).repeat(1 + random.below(100_000)));
  const question = structuredClone(world.question);
  for (let count = random.below(4); count > 0; count--) {
    const [owner, name] = random.chance(0.3)
      ? [
          Array.isArray(question.candidates) && question.candidates[0] instanceof Object
            ? question.candidates[0]
            : question,
          random.pick(['id', 'embedding']),
        ]
      : [question, random.pick(members)];
    Object.defineProperty(owner, name, {
      value: random.pick(things),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  const bytes = Buffer.from(JSON.stringify(question));
  return random.chance(0.4) ? mutate(bytes, random) : bytes;
};

const header = 'Content-Disposition: form-data; name="image1"';
// biome-ignore format: a list of words
const dispositions = [
  header, `${header}; filename="a.jpg"`, `${header}; filename*=UTF-8''%e2%82%ac.jpg`, `${header}; filename*=x'y`, 'Content-Disposition: form-data',
  'Content-Disposition: attachment; name="image1"', 'content-disposition:form-data;name=image1', `${header}; name="image2"`, `${header}\r\n folded`,
  `${header}; x="${'y'.repeat(9000)}"`, 'Content-Disposition: form-data; name="ima\0ge1"', 'Content-Disposition: form-data; name="image1', ': no name',
  `${header}\r\nContent-Transfer-Encoding: base64`, `${header}\r\nContent-Type: multipart/mixed; boundary=inner`, '', 'x', `X: y\r\n${header}`,
  'Content-Disposition: form-data; name="\\"\\\\"', 'Content-Disposition: form-data; name=""', `${header};;;`, `${header}; filename="../../etc/passwd"`,
];
const ends = ['\r\n', '\n', '\r', '', '\r\n\r\n', '\r\n ', '--\r\n'];
const delimiters = [
  `--${boundary}`,
  `-${boundary}`,
  boundary,
  `--${boundary}--`,
  `--${boundary}x`,
  `--${boundary} \t`,
  '--',
];

/** Parts made of pieces of the grammar, most of them in the right place. */
export const builtForm = (random) => {
  const usual = (list) => (random.chance(0.85) ? list[0] : random.pick(list));
  const pieces = [random.chance(0.1) ? 'preamble' : ''];
  for (let count = random.below(22); count > 0; count--) {
    pieces.push(usual(delimiters), usual(ends), random.pick(dispositions), usual(ends), usual(ends));
    pieces.push(
      random.chance(0.1) ? random.bytes(random.below(200)).toString('latin1') : 'value',
      usual(ends),
    );
  }
  pieces.push(
    random.chance(0.8) ? `--${boundary}--` : random.pick(delimiters),
    random.chance(0.1) ? 'epilogue' : '\r\n',
  );
  return Buffer.from(pieces.join(''), 'latin1');
};

export const mutatedForm = (random) => mutate(form({ ...plain, threshold_percent: '70' }), random);

export const noise = (random) => random.bytes(random.below(3000));

/** Only beginnings of delimiters: the worst case for searching them. */
export const delimiterSoup = (random) =>
  Buffer.from(`\r\n--${boundary.slice(0, random.below(boundary.length + 1))}`.repeat(random.below(3000)));
