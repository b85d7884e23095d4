import type { Socket } from 'node:net';

/**
 * Maximum number of packets of one request's headers that are kept. An error in longer headers gets a 400
 * without a body.
 */
const maxPackets = 16;

const endOfHeaders = Buffer.from('\r\n\r\n');

/**
 * Keeps the packets of the headers that node:http is reading. node:http reports a parser error with the last packet
 * only, in which the rest of the headers may look like another request.
 */
export class Packets {
  /** The packet that the parser is reading. */
  #packet: Buffer | undefined;
  /** True if the packets since the start of the headers are known. */
  #isKnown = true;
  /** Copies of earlier packets of incomplete headers. */
  #before: Buffer[] = [];
  #requests = 0;
  /** True if the packet ends with a part of a body. */
  #endsWithBody = false;

  /** Called before the parser reads the packet. */
  read(packet: Buffer): void {
    this.#packet = packet;
    this.#requests = 0;
    this.#endsWithBody = false;
  }

  /** Called when the parser has read complete headers. `hasBody`: true if a body may follow. */
  countRequest(hasBody: boolean): void {
    this.#requests += 1;
    this.#forget();
    if (hasBody) this.#isKnown = false;
  }

  /** Called when the parser has read a part of a body. The part is a view of the packet. */
  body({ buffer, byteOffset, byteLength }: Uint8Array): void {
    const packet = this.#packet;
    this.#endsWithBody =
      buffer === packet?.buffer && byteOffset + byteLength === packet.byteOffset + packet.byteLength;
  }

  /** Called when the parser has read the packet. Wipes it. `inBody`: true if a body continues in the next packet. */
  done(inBody: boolean): void {
    const packet = this.#packet!;
    const isWhole =
      !inBody && (this.#endsWithBody || packet.subarray(-endOfHeaders.length).equals(endOfHeaders));
    const continues = this.#isKnown && !inBody && this.#requests === 0 && this.#before.length < maxPackets;
    if (isWhole || !continues) this.#forget();
    else this.#before.push(Buffer.from(packet));
    this.#isKnown = isWhole || continues;
    packet.fill(0);
    this.#packet = undefined;
  }

  /**
   * Returns the text from the start of the invalid headers to the end of the packet; undefined if the start is
   * unknown.
   */
  faultyHeaders(packet: Buffer, bytesParsed: number): string | undefined {
    if (!this.#isKnown) return undefined;
    const text = Buffer.concat([...this.#before, packet]).toString('latin1');
    // The parser detects an empty Content-Length only at the end of the headers, so this end is skipped.
    const before = text.lastIndexOf('\r\n\r\n', text.length - packet.length + bytesParsed - 5);
    return text.slice(before < 0 ? 0 : before + 4);
  }

  /**
   * Stops the parser within its packet, because it would create an object for each remaining request. Node has no
   * function for this. No method begins with a zero byte (RFC 9110, section 9.1), and llhttp keeps only offsets, so
   * it fails at the next request of a zeroed packet.
   */
  endParser(): void {
    this.#packet?.fill(0);
  }

  #forget(): void {
    for (const packet of this.#before) packet.fill(0);
    this.#before = [];
  }
}

const known = new WeakMap<Socket, Packets>();

export function packetsOf(socket: Socket): Packets {
  const packets = known.get(socket) ?? new Packets();
  known.set(socket, packets);
  return packets;
}
