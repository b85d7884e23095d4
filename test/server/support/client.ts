import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectSecurely, TLSSocket } from 'node:tls';
import { expect } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { type ErrorCode, errorTable } from '../../../src/errors.ts';
import { makePair } from '../../fixtures/credentials.ts';
import { samples } from '../../fixtures/images.ts';
import { newFolder } from '../../support/folder.ts';
import { without } from '../../support/without.mjs';
import { TestServer } from './server.ts';

const load = await import(projectPath('test/support/load.mjs'));

/** Requests as a client library sends them, and as none would. */

export const paths = {
  match: '/API/v1.0/face/match/upload',
  advanced: '/API/v1.0/face/match/upload/advanced',
  detect: '/API/v1.0/face/detect/upload',
  many: '/API/v1.0/face/match/upload/many',
  person: '/API/v1.0/face/match/upload/person',
  embed: '/API/v1.0/face/embed/upload',
  embeddings: '/API/v1.0/face/match/embeddings',
  models: '/API/v1.0/models',
} as const;

export type Fields = Record<string, string | Uint8Array | readonly (string | Uint8Array)[]>;

/** Bytes become files, text becomes text fields, an array repeats its field. */
export function form(fields: Fields): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    for (const item of typeof value === 'string' || value instanceof Uint8Array ? [value] : value) {
      if (typeof item === 'string') data.append(name, item);
      else data.append(name, new Blob([item as Uint8Array<ArrayBuffer>]), `${name}.bin`);
    }
  }
  return data;
}

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

export interface Send {
  path?: string;
  method?: string;
  key?: string | null;
  headers?: Record<string, string>;
  body?: RequestInit['body'];
  signal?: AbortSignal;
}

/** `key` is the server's own unless given; null sends none. */
export async function send(server: TestServer, options: Send): Promise<Answer> {
  const { path = paths.match, method = 'POST', key = server.key, headers = {}, body, signal } = options;
  const response = await fetch(server.url(path), {
    method,
    headers: { ...(key === null ? {} : { 'x-api-key': key }), ...headers },
    ...(body === undefined ? {} : { body, duplex: 'half' }),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await response.text();
  const { status, headers: answered } = response;
  return { status, headers: answered, body: text === '' ? undefined : JSON.parse(text) };
}

export function match(server: TestServer, fields: Fields, options: Omit<Send, 'body'> = {}): Promise<Answer> {
  return send(server, { ...options, body: form(fields) });
}

export const getModels = (server: TestServer, options: Omit<Send, 'path' | 'method'> = {}) =>
  send(server, { path: paths.models, method: 'GET', ...options });

/** A text is sent as it is, whether or not it is JSON. */
export function postJson(server: TestServer, path: string, body: object | string, key = server.key) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return send(server, { path, key, body: text, headers: { 'content-type': 'application/json' } });
}

/** A question for match/embeddings: is the first face of an image among these? */
export async function embeddingsQuestion(server: TestServer, image: Uint8Array): Promise<Json> {
  const { body } = await match(server, { image }, { path: paths.embed });
  const { pack, version, accuracy_mode } = body.embedding;
  const embeddings: string[] = body.image.faces.map(({ embedding }: Json) => embedding);
  const candidates = embeddings.map((embedding, index) => ({ id: `face ${index}`, embedding }));
  return { embedding: embeddings[0], candidates, pack, version, accuracy_mode };
}

/** Bytes on a socket, one at a time if need be. */
export class RawClient {
  readonly socket: Socket;
  /** All that came, as Latin-1. */
  text = '';
  readonly closed: Promise<void>;
  readonly #waiting = new Set<() => void>();

  /** A port of this machine, or a connection that was made already. */
  constructor(to: number | Socket) {
    this.socket = typeof to === 'number' ? connect(to, '127.0.0.1') : to;
    // A reset is an end as well; what had come before it is in `text`.
    this.socket.on('error', () => {});
    this.socket.on('data', (bytes) => {
      this.text += bytes.toString('latin1');
      for (const look of this.#waiting) look();
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
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!condition()) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      void this.closed.then(() =>
        reject(new Error(`The connection ended after: ${this.text.slice(0, 500)}`)),
      );
      look();
    });
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

/** The first answer to bytes on a connection of their own, which then ends. */
export async function sendRaw(server: TestServer, bytes: string | Uint8Array): Promise<Answer> {
  const client = new RawClient(server.port);
  client.write(bytes);
  const answer = await client.answer();
  client.leave();
  return answer;
}

export const formType: string = load.content_type;

/** A request's head. A value of undefined leaves the header out. */
export function head(
  server: TestServer,
  headers: Record<string, string | undefined> = {},
  requestLine = `POST ${paths.match} HTTP/1.1`,
): string {
  const all = { host: 'test', 'x-api-key': server.key, 'content-type': formType, ...headers };
  const lines = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}`],
  );
  return [requestLine, ...lines, '', ''].join('\r\n');
}

export const getHead = (server: TestServer, path: string = paths.models) =>
  head(server, {}, `GET ${path} HTTP/1.1`);

/** The head of a request whose body has as many bytes. */
export const lengthHead = (server: TestServer, bytes: number, headers: Record<string, string> = {}) =>
  head(server, { 'content-length': String(bytes), ...headers });

export const chunkedHead = (server: TestServer, headers: Record<string, string> = {}) =>
  head(server, { 'transfer-encoding': 'chunked', ...headers });

/** A form as bytes, with the content type `formType`. */
export const formBytes = (fields: Fields): Buffer => load.form(fields);

export const photoForm = () => formBytes(twoPhotos());

/** A match, head and body. */
export function photoRequest(server: TestServer, headers: Record<string, string> = {}): Buffer {
  const body = photoForm();
  return Buffer.concat([Buffer.from(lengthHead(server, body.length, headers)), body]);
}

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

/** A server that speaks TLS, and what trusts its first certificate, whose name is `one`. */
export async function startTls(env: Record<string, string> = {}, pair = makePair(newFolder(), 'one')) {
  // Read before the server is: the file may change from now on.
  const ca = readFileSync(pair.cert);
  const files = { FACEMATCH_TLS_CERT: pair.cert, FACEMATCH_TLS_KEY: pair.key };
  return { server: await TestServer.start({ env: { ...files, ...env } }), pair, ca };
}

/** Resolves after the handshake, and rejects when there is none. Whoever the other is, is not asked unless `ca` is given. */
export async function connectTls(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const rejectUnauthorized = options.ca !== undefined;
  const socket = connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized, ...options });
  await once(socket, 'secureConnect');
  return socket;
}

export const rawTls = async (port: number) => new RawClient(await connectTls(port));

/** Common name of the certificate that a new connection gets; with `servername` when one is given. */
export async function nameAt(port: number, servername?: string): Promise<string> {
  const socket = await connectTls(port, servername === undefined ? {} : { servername });
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}
