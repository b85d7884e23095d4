import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectSecurely, TLSSocket } from 'node:tls';
import { expect } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { type ErrorCode, errorTable } from '../../../src/errors.ts';
import { samples } from '../../fixtures/images.ts';
import { without } from '../../support/without.mjs';

const load = await import(projectPath('test/support/load.mjs'));

/** Sends requests as client libraries do, and malformed ones. */

export const paths = {
  match: '/API/v1.0/face/match/upload',
  advanced: '/API/v1.0/face/match/upload/advanced',
  detect: '/API/v1.0/face/detect/upload',
  many: '/API/v1.0/face/match/upload/many',
  person: '/API/v1.0/face/match/upload/person',
  live: '/API/v1.0/face/match/upload/live',
  challenge: '/API/v1.0/face/match/challenge',
  embed: '/API/v1.0/face/embed/upload',
  embeddings: '/API/v1.0/face/match/embeddings',
  models: '/API/v1.0/models',
} as const;

export type Fields = Record<string, string | Uint8Array | readonly (string | Uint8Array)[]>;

export const twoPhotos = (): Fields => ({ image1: samples.one, image2: samples.three });

// biome-ignore lint/suspicious/noExplicitAny: tests read responses of any shape
export type Json = any;

export interface TestResponse {
  status: number;
  headers: Headers;
  body: Json;
}

/** Returns the members of a response that are equal for equal requests. */
export const lasting = (response: Json): Json => without(response, 'request_id', 'timings_ms');

/** Options of TestServer.send. */
export interface Send {
  path?: string;
  method?: string;
  /** The server's own key by default; null sends none. */
  key?: string | null;
  headers?: Record<string, string>;
  body?: RequestInit['body'];
  signal?: AbortSignal;
}

/** Sends bytes on a socket, one at a time if needed. */
export class RawClient {
  readonly socket: Socket;
  /** Everything received, as Latin-1. */
  text = '';
  readonly closed: Promise<void>;

  /** Connects to a port of this machine, or wraps an existing connection. */
  constructor(to: number | Socket) {
    this.socket = typeof to === 'number' ? connect(to, '127.0.0.1') : to;
    // A reset also counts as an end; everything received before is in `text`.
    this.socket.on('error', () => {});
    this.socket.on('data', (bytes) => {
      this.text += bytes.toString('latin1');
    });
    this.closed = new Promise((resolve) => this.socket.on('close', () => resolve()));
  }

  write(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** Resolves to all complete responses, once there are at least `count`; rejects if the connection ends before. */
  async responses(count: number): Promise<TestResponse[]> {
    const whole = () => load.parseResponses(Buffer.from(this.text, 'latin1'));
    await this.until(() => whole().length >= count);
    return whole().map(
      ({ headerText, status, body }: { headerText: string; status: number; body: Buffer }) => {
        const lines = [...headerText.matchAll(/^([\w-]+): *(.*?)\r?$/gm)];
        return {
          status,
          headers: new Headers(lines.map(([, name, value]) => [name!, value!])),
          body: body.length === 0 ? undefined : JSON.parse(body.toString()),
        };
      },
    );
  }

  /** Resolves when the received text fulfils `condition`; rejects if the connection ends before. */
  async until(condition: () => boolean): Promise<void> {
    let open = true;
    void this.closed.then(() => {
      open = false;
    });
    while (!condition()) {
      if (!open) throw new Error(`The connection ended after: ${this.text.slice(0, 500)}`);
      await Promise.race([new Promise((resolve) => this.socket.once('data', resolve)), this.closed]);
    }
  }

  async response(): Promise<TestResponse> {
    return (await this.responses(1))[0]!;
  }

  /** Breaks the connection by a reset, or for TLS without close_notify. */
  leave(): void {
    if (this.socket instanceof TLSSocket) this.socket.destroy();
    else this.socket.resetAndDestroy();
  }
}

export const formType: string = load.content_type;

/**
 * Encodes a form with the content type `formType`. Bytes become files, strings become text fields, and an array
 * repeats its field.
 */
export const formBytes = (fields: Fields): Buffer<ArrayBuffer> => load.form(fields);

export const photoForm = () => formBytes(twoPhotos());

export function chunk(bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

export const lastChunk = '0\r\n\r\n';

/** Checks the members that every problem has, and `extras`. */
export function expectProblem(response: TestResponse, code: ErrorCode, extras: object = {}): void {
  const { status, title } = errorTable[code];
  expect(response.body).toMatchObject({ code, status, title, ...extras });
  expect(response.status).toBe(status);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('x-request-id')).toBe(response.body.request_id);
  expect(response.body.type).toBe(`/API/v1.0/docs#error-${code}`);
  expect(response.body.detail.length).toBeGreaterThan(10);
  // Checks that nothing internal is included: no folder of this machine, no stack, no source file.
  expect(JSON.stringify(response.body)).not.toMatch(/node_modules|\/dist\/|\.(ts|js|cpp|onnx)\b|at Object\./);
}

/**
 * Resolves after the handshake, and rejects if it fails. The certificate is verified only if `ca` is given.
 */
export async function connectTls(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const rejectUnauthorized = options.ca !== undefined;
  const socket = connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized, ...options });
  await once(socket, 'secureConnect');
  return socket;
}

export const rawTls = async (port: number) => new RawClient(await connectTls(port));
