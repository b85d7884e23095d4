import type { Socket } from 'node:net';

/** A head in more packets than this is not ordinary; a fault in it gets a bare 400. */
const maxPackets = 16;

const endOfHead = Buffer.from('\r\n\r\n');

/**
 * The packets of a connection, as far as they say where the head begins that node:http is reading: it reports a fault with the last packet
 * alone, in which the rest of a head may look like another request.
 */
export class Packets {
  /** The one that the parser is reading. */
  #packet: Buffer | undefined;
  /** Whether it began with a head, or went on with the one of `#before`. */
  #isKnown = true;
  /** Copies of earlier packets of a head that is not whole. */
  #before: Buffer[] = [];
  #heads = 0;
  #bodyEndsIt = false;

  /** Before the parser reads it. */
  read(packet: Buffer): void {
    this.#packet = packet;
    this.#heads = 0;
    this.#bodyEndsIt = false;
  }

  /** The parser has read a whole head. `hasBody`: what follows it is not known to be a head. */
  head(hasBody: boolean): void {
    this.#heads += 1;
    this.#forget();
    if (hasBody) this.#isKnown = false;
  }

  /** The parser has read a part of a body, which lies in the packet. */
  body({ buffer, byteOffset, byteLength }: Uint8Array): void {
    const packet = this.#packet;
    this.#bodyEndsIt =
      buffer === packet?.buffer && byteOffset + byteLength === packet.byteOffset + packet.byteLength;
  }

  /** The parser has read the packet, which is wiped. `inBody`: a body goes on in the next one. */
  done(inBody: boolean): void {
    const packet = this.#packet!;
    const isWhole = !inBody && (this.#bodyEndsIt || packet.subarray(-endOfHead.length).equals(endOfHead));
    const goesOn = this.#isKnown && !inBody && this.#heads === 0 && this.#before.length < maxPackets;
    if (isWhole || !goesOn) this.#forget();
    else this.#before.push(Buffer.from(packet));
    this.#isKnown = isWhole || goesOn;
    packet.fill(0);
    this.#packet = undefined;
  }

  /** The bytes from the start of a head at which a fault was seen, up to the end of the packet; undefined where the start is not known. */
  faultyHead(packet: Buffer, bytesParsed: number): string | undefined {
    if (!this.#isKnown) return undefined;
    const text = Buffer.concat([...this.#before, packet]).toString('latin1');
    // An empty length is seen only at the end of its head, which is not the one before it.
    const before = text.lastIndexOf('\r\n\r\n', text.length - packet.length + bytesParsed - 5);
    return text.slice(before < 0 ? 0 : before + 4);
  }

  /**
   * Ends the parser within its packet, for which Node has no call: it would make an object of each further request. llhttp reads one byte
   * after the other and keeps offsets only, and no method begins with a zero (RFC 9110 section 9.1), so it fails at the next request.
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
