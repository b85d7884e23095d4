import type { Socket } from 'node:net';

/** Maximum number of packets for headers; an error in longer ones gets a bare 400. */
const maxPackets = 16;

const endOfHeaders = Buffer.from('\r\n\r\n');

/**
 * Keeps the packets of a connection from the start of the headers that node:http is reading: it reports an
 * error with the last packet alone, in which the rest of the headers may look like another request.
 */
export class Packets {
  /** The packet that the parser is reading. */
  #packet: Buffer | undefined;
  /** True if it began with headers; false if it continued those of `#before`. */
  #isKnown = true;
  /** Copies of earlier packets of incomplete headers. */
  #before: Buffer[] = [];
  #requests = 0;
  #bodyEndsIt = false;

  /** Called before the parser reads it. */
  read(packet: Buffer): void {
    this.#packet = packet;
    this.#requests = 0;
    this.#bodyEndsIt = false;
  }

  /** Called when the parser has read complete headers. `hasBody`: what follows is not known to be headers. */
  countRequest(hasBody: boolean): void {
    this.#requests += 1;
    this.#forget();
    if (hasBody) this.#isKnown = false;
  }

  /** Called when the parser has read a part of a body, which is in the packet. */
  body({ buffer, byteOffset, byteLength }: Uint8Array): void {
    const packet = this.#packet;
    this.#bodyEndsIt =
      buffer === packet?.buffer && byteOffset + byteLength === packet.byteOffset + packet.byteLength;
  }

  /**
   * Called when the parser has read the packet, which is wiped. `inBody`: a body continues in the next one.
   */
  done(inBody: boolean): void {
    const packet = this.#packet!;
    const isWhole =
      !inBody && (this.#bodyEndsIt || packet.subarray(-endOfHeaders.length).equals(endOfHeaders));
    const goesOn = this.#isKnown && !inBody && this.#requests === 0 && this.#before.length < maxPackets;
    if (isWhole || !goesOn) this.#forget();
    else this.#before.push(Buffer.from(packet));
    this.#isKnown = isWhole || goesOn;
    packet.fill(0);
    this.#packet = undefined;
  }

  /**
   * Returns the bytes from the start of the headers with an error to the end of the packet; undefined if the
   * start is unknown.
   */
  faultyHeaders(packet: Buffer, bytesParsed: number): string | undefined {
    if (!this.#isKnown) return undefined;
    const text = Buffer.concat([...this.#before, packet]).toString('latin1');
    // An empty length is only detected at the end of its headers, which is not the previous end.
    const before = text.lastIndexOf('\r\n\r\n', text.length - packet.length + bytesParsed - 5);
    return text.slice(before < 0 ? 0 : before + 4);
  }

  /**
   * Stops the parser within its packet. Node has no call for it, and would create an object for each further
   * request. llhttp reads byte by byte and keeps offsets only, and no method begins with a zero (RFC 9110
   * section 9.1), so it fails at the next request.
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
