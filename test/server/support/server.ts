import type { ChildProcess } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, onTestFinished } from 'vitest';
import { scopes } from '../../../src/auth/keys.ts';
import { create, editKeyFile, type KeySettings } from '../../../src/cli/key-edits.ts';
import { projectPath } from '../../../src/config/paths.ts';
import { chooseTransport } from '../../../src/server/listeners.ts';
import { makePair } from '../../fixtures/credentials.ts';
import { pack } from '../../fixtures/images.ts';
import { newFolder } from '../../support/folder.ts';
import { facematch } from './cli.ts';
import {
  type Fields,
  formBytes,
  formType,
  type Json,
  paths,
  photoForm,
  RawClient,
  type Send,
  type TestResponse,
} from './client.ts';

const { inherited, launch, nextNode, serve, seriesValue } = await import(
  projectPath('test/support/programs.mjs')
);

/** Runs the real program in a child process, on free ports, with its own folder. */

export interface StartOptions {
  env?: Record<string, string>;
  /** Flags for Node, before the program's name. */
  node?: readonly string[];
  /** A command, with its arguments, that runs Node. Node must remain a child of this process. */
  under?: readonly string[];
  /** State to wait for: listening, or ready to serve (the default). */
  until?: 'listening' | 'ready';
  /**
   * Initial state of the addon's gate. Workers wait while it is closed; tests change it with `server.gate`.
   */
  gate?: 'open' | 'closed';
}

/** HTTP server of these tests: node:http if FACEMATCH_HTTP is `node`, or if no µWebSockets.js loads. */
export const { name: transport, reason } = chooseTransport(
  process.env.FACEMATCH_HTTP === 'node' ? 'node' : 'auto',
);

/** Settings for tests of the steps after the analysis: an image that is sent again is not analysed again. */
export const withCache = { FACEMATCH_EMBEDDING_CACHE_SIZE: '100' };

/** Returns the expected body of /readyz. */
export function readiness(status: string, stuck_workers?: number): Record<string, unknown> {
  const stepsIn = transport === 'node' && reason !== undefined;
  return {
    status,
    http: transport,
    ...(stuck_workers !== undefined && { stuck_workers }),
    ...(stepsIn && { detail: `HTTP is served by node:http: ${reason}` }),
  };
}

/** A folder with a key file. Create it first if a test needs keys before the server runs. */
export class Home {
  readonly folder = newFolder();
  readonly keysFile = join(this.folder, 'keys.json');

  /** Adds a key; by default with all scopes and a high limit. */
  key(given: Partial<KeySettings> = {}): string {
    const settings = { name: 'test', scopes, rate: 1000, burst: 1000, ...given };
    return editKeyFile(this.keysFile, (records) => create(records, settings, Date.now())).key;
  }
}

export function idOf(key: string): string {
  return key.split('_')[1]!;
}

export class TestServer {
  readonly home: Home;
  readonly child: ChildProcess;
  /** A key with every scope. */
  readonly key: string;
  /** Makes workers wait; has no effect without `StartOptions.gate`. */
  readonly gate: { close(): void; open(): void };
  readonly stdout: string[] = [];
  readonly stderr: string[] = [];
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  origin = '';
  adminOrigin = '';
  readonly #waiting = new Set<(value?: unknown) => void>();

  private constructor(home: Home, { env = {}, node = [], under = [], gate }: StartOptions) {
    this.home = home;
    this.key = home.key();
    const GATE_FILE = join(home.folder, 'gate');
    this.gate = { close: () => writeFileSync(GATE_FILE, ''), open: () => rmSync(GATE_FILE, { force: true }) };
    if (gate === 'closed') this.gate.close();
    // `next` selects a Node and a C library that can load the newest µWebSockets.js.
    const runtime = process.env.FACEMATCH_TEST_NODE === 'next' ? nextNode() : [process.execPath];
    const [command, ...args] = [...under, ...runtime, ...node, ...serve];
    ({ child: this.child, ended: this.ended } = launch(command, args, {
      cwd: home.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...inherited,
        FACEMATCH_PORT: '0',
        FACEMATCH_ADMIN_PORT: '0',
        FACEMATCH_KEYS_FILE: home.keysFile,
        FACEMATCH_WORKERS: '1',
        // A long deadline, because the machine may be busy. Tests of the deadline set their own.
        FACEMATCH_DEADLINE_MS: '120000',
        FACEMATCH_PACK: pack,
        ...(gate !== undefined && { ...disturbedAddon, GATE_FILE }),
        ...env,
      },
    }));
    for (const stream of ['stdout', 'stderr'] as const) {
      createInterface({ input: this.child[stream]! }).on('line', (line) => {
        this[stream].push(line);
        for (const check of this.#waiting) check();
        this.#waiting.clear();
      });
    }
  }

  static async start(options: StartOptions = {}, home = new Home()): Promise<TestServer> {
    const server = new TestServer(home, options);
    const starting = await server.line(server.stderr, /"msg":"starting"/);
    ({ url: server.origin, admin_url: server.adminOrigin } = JSON.parse(starting));
    if (options.until !== 'listening') await server.line(server.stdout, /listens on/);
    return server;
  }

  /** Starts a server for all tests of a file, and stops it after them. */
  static async forFile(options?: StartOptions, home?: Home): Promise<TestServer> {
    const server = await TestServer.start(options, home);
    afterAll(() => server.stop());
    return server;
  }

  /** Starts a server for the current test, and stops it after the test. */
  static async forTest(options?: StartOptions, home?: Home): Promise<TestServer> {
    const server = await TestServer.start(options, home);
    onTestFinished(() => server.stop());
    return server;
  }

  /** Starts a server that uses TLS. `ca` is its first certificate, which is self-signed. */
  static async startTls(env: Record<string, string> = {}, pair = makePair(newFolder(), 'one')) {
    // Reads the file before the server does, because it may change later.
    const ca = readFileSync(pair.cert);
    const files = { FACEMATCH_TLS_CERT: pair.cert, FACEMATCH_TLS_KEY: pair.key };
    return { server: await TestServer.start({ env: { ...files, ...env } }), pair, ca };
  }

  get port(): number {
    return Number(new URL(this.origin).port);
  }

  url(path: string): string {
    return this.origin + path;
  }

  /**
   * Resolves to the first (or `nth`) past or future line that matches. Rejects if the program ends before.
   */
  async line(lines: readonly string[], pattern: RegExp, nth = 1): Promise<string> {
    let over = false;
    void this.ended.then(() => {
      over = true;
    });
    for (;;) {
      const found = lines.filter((line) => pattern.test(line))[nth - 1];
      if (found !== undefined) return found;
      if (over) throw new Error(`The server ended without ${pattern}:\n${this.stderr.join('\n')}`);
      await Promise.race([new Promise((resolve) => this.#waiting.add(resolve)), this.ended]);
    }
  }

  async logged(request_id: string): Promise<Record<string, unknown>> {
    return JSON.parse(await this.line(this.stderr, new RegExp(`"request_id":"${request_id}"`)));
  }

  async metrics(): Promise<string> {
    return (await fetch(`${this.adminOrigin}/metrics`)).text();
  }

  /** Returns the value of a series, or 0 if it is missing. */
  async metric(series: string): Promise<number> {
    return seriesValue(series, await this.metrics());
  }

  /** Polls until the series has the value, or until the test times out. */
  async metricBecomes(series: string, value: number): Promise<void> {
    while ((await this.metric(series)) !== value) await pause();
  }

  /** Returns the response of /readyz or another path of the admin listener. */
  async probe(path = '/readyz'): Promise<[status: number, body: unknown]> {
    const response = await fetch(this.adminOrigin + path);
    return [response.status, await response.json()];
  }

  async send(options: Send): Promise<TestResponse> {
    const { path = paths.match, method = 'POST', key = this.key, body = null, signal = null } = options;
    const headers = { ...(key === null ? {} : { 'x-api-key': key }), ...options.headers };
    const response = await fetch(this.url(path), { method, headers, body, signal });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
  }

  match(fields: Fields, options: Omit<Send, 'body'> = {}): Promise<TestResponse> {
    const headers = { 'content-type': formType, ...options.headers };
    return this.send({ ...options, headers, body: formBytes(fields) });
  }

  getModels(options: Omit<Send, 'path' | 'method'> = {}): Promise<TestResponse> {
    return this.send({ path: paths.models, method: 'GET', ...options });
  }

  /** Sends a string unchanged, even if it is not JSON. */
  postJson(path: string, body: object | string, key = this.key): Promise<TestResponse> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return this.send({ path, key, body: text, headers: { 'content-type': 'application/json' } });
  }

  /** Builds a match/embeddings request that compares an image's first face with all faces of the image. */
  async embeddingsRequest(image: Uint8Array): Promise<Json> {
    const { body } = await this.match({ image }, { path: paths.embed });
    const { pack, version, accuracy_mode } = body.embedding;
    const embeddings: string[] = body.image.faces.map(({ embedding }: Json) => embedding);
    const candidates = embeddings.map((embedding, index) => ({ id: `face ${index}`, embedding }));
    return { embedding: embeddings[0], candidates, pack, version, accuracy_mode };
  }

  /** Sends bytes on a separate connection, returns the first response, and resets the connection. */
  async sendRaw(bytes: string | Uint8Array): Promise<TestResponse> {
    const client = new RawClient(this.port);
    client.write(bytes);
    const response = await client.response();
    client.leave();
    return response;
  }

  /** Builds a request's headers. A value of undefined omits the header. */
  requestHeaders(
    headers: Record<string, string | undefined> = {},
    line = `POST ${paths.match} HTTP/1.1`,
  ): string {
    const all = { host: 'test', 'x-api-key': this.key, 'content-type': formType, ...headers };
    const lines = Object.entries(all).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}: ${value}`],
    );
    return [line, ...lines, '', ''].join('\r\n');
  }

  getRequest(path: string = paths.models): string {
    return this.requestHeaders({}, `GET ${path} HTTP/1.1`);
  }

  /** Builds the headers of a request whose body has this many bytes. */
  lengthHeaders(bytes: number, headers: Record<string, string> = {}): string {
    return this.requestHeaders({ 'content-length': String(bytes), ...headers });
  }

  chunkedHeaders(headers: Record<string, string> = {}): string {
    return this.requestHeaders({ 'transfer-encoding': 'chunked', ...headers });
  }

  /** Builds a whole match request. */
  photoRequest(headers: Record<string, string> = {}): Buffer {
    const body = photoForm();
    return Buffer.concat([Buffer.from(this.lengthHeaders(body.length, headers)), body]);
  }

  async stop(): Promise<void> {
    this.gate.open();
    this.child.kill('SIGTERM');
    await this.ended;
  }
}

/** Pause between polls, so that polling does not take a CPU from the server. */
export const pause = () => setTimeout(20);

/** Environment that loads addon.cjs instead of the addon; addon.cjs wraps the real one. */
export const disturbedAddon = {
  REAL_ADDON: process.env.FACEMATCH_ADDON ?? projectPath('build/addon/Release/facematch.node'),
  FACEMATCH_ADDON: fileURLToPath(new URL('./addon.cjs', import.meta.url)),
};

/** Runs `serve` with an invalid configuration until it exits; returns its output without the log. */
export async function failingStart(env: Record<string, string>): Promise<string> {
  const home = new Home();
  home.key();
  const fixed = { FACEMATCH_PORT: '0', FACEMATCH_ADMIN_PORT: '0', FACEMATCH_KEYS_FILE: home.keysFile };
  const { code, stdout, stderr } = await facematch('serve', home.folder, { ...fixed, ...env });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  return stderr.replace(/^(\{.*)?\n/gm, '');
}
