import { ByteBuffer } from 'flatbuffers';

/**
 * Reads TensorFlow Lite models that consist of convolutions. A file is a FlatBuffer of tables. Field numbers are those
 * of TensorFlow's schema, tensorflow/lite/schema/schema.fbs.
 */

export interface Tensor {
  name: string;
  /** Shape; batch × height × width × channels for an activation. */
  shape: number[];
  /** Values of a constant. Half-precision values are converted to floats. */
  values: Float32Array | Int32Array | undefined;
}

/** The number of each operator in BuiltinOperator, and the field numbers of its options. */
const operators = {
  ADD: { number: 0, options: { activation: 0 } },
  CONCATENATION: { number: 2, options: { axis: 0, activation: 1 } },
  CONV_2D: { number: 3, options: { padding: 0, stride_w: 1, stride_h: 2, activation: 3 } },
  DEPTHWISE_CONV_2D: { number: 4, options: { padding: 0, stride_w: 1, stride_h: 2, activation: 4 } },
  DEQUANTIZE: { number: 6, options: {} },
  MAX_POOL_2D: {
    number: 17,
    options: { padding: 0, stride_w: 1, stride_h: 2, width: 3, height: 4, activation: 5 },
  },
  RELU: { number: 19, options: {} },
  RESHAPE: { number: 22, options: {} },
  PAD: { number: 34, options: {} },
} as const satisfies Record<string, { number: number; options: Record<string, number> }>;

export type OperatorKind = keyof typeof operators;

type Options = Partial<Record<string, number>>;

export interface Operator {
  kind: OperatorKind;
  inputs: Tensor[];
  output: Tensor;
  /** A field that the file omits is undefined, and means 0. */
  options: Options;
}

/** Returns the first graph of a file, with its operators in execution order. */
export function readTflite(bytes: Uint8Array) {
  const buffer = new ByteBuffer(bytes);
  const model = new Table(buffer, buffer.__indirect(0));
  const codes = model.tables(1).map((code) => kindOf(code));
  const graph = model.tables(2)[0]!;
  const buffers = model.tables(4);
  const tensors = graph.tables(0).map((tensor): Tensor => {
    const data = buffers[tensor.whole(2) ?? 0]?.bytes(0);
    return {
      name: tensor.text(3),
      shape: tensor.wholes(0),
      values: data && valuesOf(data, tensor.byte(1) ?? 0),
    };
  });
  const named = (table: Table, field: number) => table.wholes(field).map((index) => tensors[index]!);
  return {
    inputs: named(graph, 1),
    outputs: named(graph, 2),
    operators: graph.tables(3).map((operator): Operator => {
      const kind = codes[operator.whole(0) ?? 0]!;
      const options = operator.table(4);
      const [output] = named(operator, 2);
      return { kind, inputs: named(operator, 1), output: output!, options: optionsOf(kind, options) };
    }),
  };
}

/** The number of an operator is in a byte field, or in a separate field of newer files. */
function kindOf(code: Table): OperatorKind {
  const number = Math.max(code.byte(0) ?? 0, code.whole(3) ?? 0);
  const found = Object.entries(operators).find(([, operator]) => operator.number === number);
  if (!found) throw new Error(`The model has the unsupported operator ${number}`);
  return found[0] as OperatorKind;
}

function optionsOf(kind: OperatorKind, table: Table | undefined): Options {
  const fields = Object.entries(operators[kind].options);
  const isEnum = (name: string) => name === 'padding' || name === 'activation';
  return Object.fromEntries(
    fields.map(([name, field]) => [name, isEnum(name) ? table?.byte(field) : table?.whole(field)]),
  );
}

/** Decodes constants. `type` is a number of TensorType: 0 float32, 1 float16, 2 int32. */
function valuesOf(data: Uint8Array, type: number): Float32Array | Int32Array {
  // Copies the bytes, because their offset in the file may not be a multiple of 4.
  const { buffer } = Uint8Array.from(data);
  if (type === 0) return new Float32Array(buffer);
  if (type === 1) return Float32Array.from(new Uint16Array(buffer), floatOfHalf);
  if (type === 2) return new Int32Array(buffer);
  throw new Error(`The model has constants of the unsupported type ${type}`);
}

/** Decodes IEEE 754 binary16: a sign bit, 5 exponent bits and 10 fraction bits. */
function floatOfHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = (bits & 1023) / 1024;
  if (exponent === 0) return sign * fraction * 2 ** -14;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction) * 2 ** (exponent - 15);
}

/** A table of a FlatBuffer. Missing fields are undefined or empty. */
class Table {
  readonly #buffer: ByteBuffer;
  readonly #place: number;

  constructor(buffer: ByteBuffer, place: number) {
    this.#buffer = buffer;
    this.#place = place;
  }

  byte(field: number): number | undefined {
    const place = this.#find(field);
    return place ? this.#buffer.readInt8(place) : undefined;
  }

  whole(field: number): number | undefined {
    const place = this.#find(field);
    return place ? this.#buffer.readInt32(place) : undefined;
  }

  text(field: number): string {
    const place = this.#find(field);
    return place ? String(this.#buffer.__string(place)) : '';
  }

  table(field: number): Table | undefined {
    const place = this.#find(field);
    return place ? new Table(this.#buffer, this.#buffer.__indirect(place)) : undefined;
  }

  tables(field: number): Table[] {
    return this.#list(field, (place) => new Table(this.#buffer, this.#buffer.__indirect(place)));
  }

  wholes(field: number): number[] {
    return this.#list(field, (place) => this.#buffer.readInt32(place));
  }

  bytes(field: number): Uint8Array | undefined {
    const place = this.#find(field);
    if (!place) return undefined;
    const start = this.#buffer.__vector(place);
    return this.#buffer.bytes().subarray(start, start + this.#buffer.__vector_len(place));
  }

  /** Reads a vector of 4-byte entries. */
  #list<T>(field: number, read: (place: number) => T): T[] {
    const place = this.#find(field);
    if (!place) return [];
    const start = this.#buffer.__vector(place);
    return Array.from({ length: this.#buffer.__vector_len(place) }, (_, i) => read(start + 4 * i));
  }

  #find(field: number): number | undefined {
    // The vtable begins with two 16-bit sizes; the 16-bit offsets of the fields follow.
    const offset = this.#buffer.__offset(this.#place, 4 + 2 * field);
    return offset === 0 ? undefined : this.#place + offset;
  }
}
