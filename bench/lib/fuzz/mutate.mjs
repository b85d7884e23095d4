// Ways to spoil bytes.

const flip = (bytes, random) => {
  const spoilt = Buffer.from(bytes);
  for (let count = 1 + random.below(16); count > 0 && spoilt.length > 0; count--) {
    spoilt[random.below(spoilt.length)] ^= 1 << random.below(8);
  }
  return spoilt;
};

const overwrite = (bytes, random) => {
  const spoilt = Buffer.from(bytes);
  // The values at which lengths and signs turn over.
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

/** One to three of them, one after the other. */
export function mutate(bytes, random) {
  let spoilt = bytes;
  for (let count = 1 + random.below(3); count > 0; count--) spoilt = random.pick(ways)(spoilt, random);
  return spoilt;
}

/** Only within the first `length` bytes, where headers are. */
export function mutateStart(bytes, length, random) {
  return Buffer.concat([mutate(bytes.subarray(0, length), random), bytes.subarray(length)]);
}
