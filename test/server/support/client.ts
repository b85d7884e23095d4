import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectSecurely, TLSSocket } from 'node:tls';
import { expect } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { type ErrorCode, errorTable } from '../../../src/errors.ts';
import { samples } from '../../fixtures/images.ts';
import { without } from '../../support/without.mjs';

const load = await import(projectPath('test/support/load.mjs'));

/** Requests as a client library sends them, and as none would. */

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

// biome-ignore lint/suspicious/noExplicitAny: an answer is looked at, never trusted
export type Json = any;

export interface Answer {
  status: number;
  headers: Headers;
  body: Json;
}

/** What is the same of every answer to the same request. */
export const lasting = (answer: Json): Json => without(answer, 'request_id', 'timings_ms');

/** What TestServer.send is told. */
export interface Send {
  path?: string;
  method?: string;
  /** The server's own unless given; null sends none. */
  key?: string | null;
  headers?: Record<string, string>;
  body?: RequestInit['body'];
  signal?: AbortSignal;
}

/** Bytes on a socket, one at a time if need be. */
export class RawClient {
  readonly socket: Socket;
  /** All that came, as Latin-1. */
  text = '';
  readonly closed: Promise<void>;

  /** A port of this machine, or a connection that was made already. */
  constructor(to: number | Socket) {
    this.socket = typeof to === 'number' ? connect(to, '127.0.0.1') : to;
    // A reset is an end as well; what had come before it is in `text`.
    this.socket.on('error', () => {});
    this.socket.on('data', (bytes) => {
      this.text += bytes.toString('latin1');
    });
    this.closed = new Promise((resolve) => this.socket.on('close', () => resolve()));
  }

  write(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** All whole answers, once there are as many; rejects when the connection ends before. */
  async answers(count: number): Promise<Answer[]> {
    const whole = () => load.parseAnswers(Buffer.from(this.text, 'latin1'));
    await this.until(() => whole().length >= count);
    return whole().map(({ head, status, body }: { head: string; status: number; body: Buffer }) => {
      const lines = [...head.matchAll(/^([\w-]+): *(.*?)\r?$/gm)];
      return {
        status,
        headers: new Headers(lines.map(([, name, value]) => [name!, value!])),
        body: body.length === 0 ? undefined : JSON.parse(body.toString()),
      };
    });
  }

  /** Resolves when what has come fulfils `condition`; rejects when the connection ends before. */
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

  async answer(): Promise<Answer> {
    return (await this.answers(1))[0]!;
  }

  /** Breaks the connection off: by a reset, or where it is encrypted without the goodbye of TLS. */
  leave(): void {
    if (this.socket instanceof TLSSocket) this.socket.destroy();
    else this.socket.resetAndDestroy();
  }
}

export const formType: string = load.content_type;

/** A form as bytes, with the content type `formType`: bytes become files, text becomes text fields, an array repeats its field. */
export const formBytes = (fields: Fields): Buffer<ArrayBuffer> => load.form(fields);

export const photoForm = () => formBytes(twoPhotos());

export function chunk(bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

export const lastChunk = '0\r\n\r\n';

/** What every problem has, and what this one has beside it. */
export function expectProblem(answer: Answer, code: ErrorCode, extras: object = {}): void {
  const { status, title } = errorTable[code];
  expect(answer.body).toMatchObject({ code, status, title, ...extras });
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('x-request-id')).toBe(answer.body.request_id);
  expect(answer.body.type).toBe(`/API/v1.0/docs#error-${code}`);
  expect(answer.body.detail.length).toBeGreaterThan(10);
  // Nothing internal: no folder of this machine, no stack, no source file.
  expect(JSON.stringify(answer.body)).not.toMatch(/node_modules|\/dist\/|\.(ts|js|cpp|onnx)\b|at Object\./);
}

/** Resolves after the handshake, and rejects when there is none. Whoever the other is, is not asked unless `ca` is given. */
export async function connectTls(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const rejectUnauthorized = options.ca !== undefined;
  const socket = connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized, ...options });
  await once(socket, 'secureConnect');
  return socket;
}

export const rawTls = async (port: number) => new RawClient(await connectTls(port));
