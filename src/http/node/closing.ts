import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** How long a connection is read on that was ended: a reset would discard an answer. */
const linger_ms = 1000;

/** Ends a connection of which node:http can read no more, with what is still to be said. */
export function closeSoon(socket: Duplex, last = ''): void {
  socket.end(last);
  const timer = setTimeout(() => socket.destroy(), linger_ms);
  socket.once('close', () => clearTimeout(timer));
}

/** The connection of a head that node:http did not read, because its body could end in two places: it reads another one, and answers. */
export class SecondReading extends Duplex {
  readonly #socket: Socket;
  readonly remoteAddress: string | undefined;

  constructor(socket: Socket, head: string) {
    super();
    this.#socket = socket;
    this.remoteAddress = socket.remoteAddress;
    this.push(head, 'latin1');
    socket.once('close', () => this.destroy());
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: () => void): void {
    closeSoon(this.#socket);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
