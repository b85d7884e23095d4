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
  type Answer,
  type Fields,
  formBytes,
  formType,
  type Json,
  paths,
  photoForm,
  RawClient,
  type Send,
} from './client.ts';

const { inherited, launch, nextNode, serve, seriesValue } = await import(
  projectPath('test/support/programs.mjs')
);

/** The real program in a process of its own, on free ports, with a folder of its own. */

export interface StartOptions {
  env?: Record<string, string>;
  /** Flags for node itself, before the program's name. */
  node?: readonly string[];
  /** A command that runs node, with its arguments; it must leave node the child of this process. */
  under?: readonly string[];
  /** What the started server is waited for: listening, or ready to serve (the default). */
  until?: 'listening' | 'ready';
  /** Whether its workers wait at the door of the addon from the start on, or once a test closes it (`server.gate`). */
  gate?: 'open' | 'closed';
}

/** What speaks HTTP in the servers of these tests: where no µWebSockets.js loads, it is node:http in all of them. */
export const { name: transport, reason } = chooseTransport(
  process.env.FACEMATCH_HTTP === 'node' ? 'node' : 'auto',
);

/** What /readyz says in these tests: its status, and by what HTTP is served. */
export function readiness(status: string, stuck_workers?: number): Record<string, unknown> {
  const stepsIn = transport === 'node' && reason !== undefined;
  return {
    status,
    http: transport,
    ...(stuck_workers !== undefined && { stuck_workers }),
    ...(stepsIn && { detail: `HTTP is served by node:http: ${reason}` }),
  };
}

/** A folder with a key file. Make it first when a test needs keys before the server runs. */
export class Home {
  readonly folder = newFolder();
  readonly keysFile = join(this.folder, 'keys.json');

  /** Adds a key; all scopes and hardly a limit unless told otherwise. */
  key(wish: Partial<KeySettings> = {}): string {
    const settings = { name: 'test', scopes, rate: 1000, burst: 1000, ...wish };
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
  /** Holds the workers; there is one where `StartOptions` ask for it. */
  readonly gate: { close(): void; open(): void };
  readonly stdout: string[] = [];
  readonly stderr: string[] = [];
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  address = '';
  adminAddress = '';
  readonly #waiting = new Set<(value?: unknown) => void>();

  private constructor(home: Home, { env = {}, node = [], under = [], gate }: StartOptions) {
    this.home = home;
    this.key = home.key();
    const GATE_FILE = join(home.folder, 'gate');
    this.gate = { close: () => writeFileSync(GATE_FILE, ''), open: () => rmSync(GATE_FILE, { force: true }) };
    if (gate === 'closed') this.gate.close();
    // It runs with the newest µWebSockets.js, where this Node or C library is too old for it.
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
        FACEMATCH_PACK: pack,
        ...(gate !== undefined && { ...disturbedAddon, GATE_FILE }),
        ...env,
      },
    }));
    for (const stream of ['stdout', 'stderr'] as const) {
      createInterface({ input: this.child[stream]! }).on('line', (line) => {
        this[stream].push(line);
        for (const look of this.#waiting) look();
        this.#waiting.clear();
      });
    }
  }

  static async start(options: StartOptions = {}, home = new Home()): Promise<TestServer> {
    const server = new TestServer(home, options);
    const starting = await server.line(server.stderr, /"msg":"starting"/);
    ({ address: server.address, admin_address: server.adminAddress } = JSON.parse(starting));
    if (options.until !== 'listening') await server.line(server.stdout, /listens on/);
    return server;
  }

  /** One for all tests of a file, which ends with them. */
  static async forFile(options?: StartOptions, home?: Home): Promise<TestServer> {
    const server = await TestServer.start(options, home);
    afterAll(() => server.stop());
    return server;
  }

  /** One for the test that runs, which ends with it. */
  static async forTest(options?: StartOptions, home?: Home): Promise<TestServer> {
    const server = await TestServer.start(options, home);
    onTestFinished(() => server.stop());
    return server;
  }

  /** One that speaks TLS, and what trusts its first certificate, whose name is `one`. */
  static async startTls(env: Record<string, string> = {}, pair = makePair(newFolder(), 'one')) {
    // Read before the server is: the file may change from now on.
    const ca = readFileSync(pair.cert);
    const files = { FACEMATCH_TLS_CERT: pair.cert, FACEMATCH_TLS_KEY: pair.key };
    return { server: await TestServer.start({ env: { ...files, ...env } }), pair, ca };
  }

  get port(): number {
    return Number(new URL(this.address).port);
  }

  url(path: string): string {
    return this.address + path;
  }

  /** The first line, or the `nth` one, already there or still to come, that matches. Rejects when the program ends before. */
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
    return (await fetch(`${this.adminAddress}/metrics`)).text();
  }

  /** 0 when there is no such series yet. */
  async metric(series: string): Promise<number> {
    return seriesValue(series, await this.metrics());
  }

  /** Asks until the series has the value; the test's own time limit ends it otherwise. */
  async metricBecomes(series: string, value: number): Promise<void> {
    while ((await this.metric(series)) !== value) await pause();
  }

  /** What /readyz or another path of the admin listener answers. */
  async probe(path = '/readyz'): Promise<[status: number, body: unknown]> {
    const answer = await fetch(this.adminAddress + path);
    return [answer.status, await answer.json()];
  }

  async send(options: Send): Promise<Answer> {
    const { path = paths.match, method = 'POST', key = this.key, body = null, signal = null } = options;
    const headers = { ...(key === null ? {} : { 'x-api-key': key }), ...options.headers };
    const answer = await fetch(this.url(path), { method, headers, body, signal });
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
  }

  match(fields: Fields, options: Omit<Send, 'body'> = {}): Promise<Answer> {
    const headers = { 'content-type': formType, ...options.headers };
    return this.send({ ...options, headers, body: formBytes(fields) });
  }

  getModels(options: Omit<Send, 'path' | 'method'> = {}): Promise<Answer> {
    return this.send({ path: paths.models, method: 'GET', ...options });
  }

  /** A text is sent as it is, whether or not it is JSON. */
  postJson(path: string, body: object | string, key = this.key): Promise<Answer> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return this.send({ path, key, body: text, headers: { 'content-type': 'application/json' } });
  }

  /** A question for match/embeddings: is the first face of an image among these? */
  async embeddingsQuestion(image: Uint8Array): Promise<Json> {
    const { body } = await this.match({ image }, { path: paths.embed });
    const { pack, version, accuracy_mode } = body.embedding;
    const embeddings: string[] = body.image.faces.map(({ embedding }: Json) => embedding);
    const candidates = embeddings.map((embedding, index) => ({ id: `face ${index}`, embedding }));
    return { embedding: embeddings[0], candidates, pack, version, accuracy_mode };
  }

  /** The first answer to bytes on a connection of their own, which then ends. */
  async sendRaw(bytes: string | Uint8Array): Promise<Answer> {
    const client = new RawClient(this.port);
    client.write(bytes);
    const answer = await client.answer();
    client.leave();
    return answer;
  }

  /** A request's head. A value of undefined leaves the header out. */
  head(headers: Record<string, string | undefined> = {}, line = `POST ${paths.match} HTTP/1.1`): string {
    const all = { host: 'test', 'x-api-key': this.key, 'content-type': formType, ...headers };
    const lines = Object.entries(all).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}: ${value}`],
    );
    return [line, ...lines, '', ''].join('\r\n');
  }

  getHead(path: string = paths.models): string {
    return this.head({}, `GET ${path} HTTP/1.1`);
  }

  /** The head of a request whose body has as many bytes. */
  lengthHead(bytes: number, headers: Record<string, string> = {}): string {
    return this.head({ 'content-length': String(bytes), ...headers });
  }

  chunkedHead(headers: Record<string, string> = {}): string {
    return this.head({ 'transfer-encoding': 'chunked', ...headers });
  }

  /** A match, head and body. */
  photoRequest(headers: Record<string, string> = {}): Buffer {
    const body = photoForm();
    return Buffer.concat([Buffer.from(this.lengthHead(body.length, headers)), body]);
  }

  async stop(): Promise<void> {
    this.gate.open();
    this.child.kill('SIGTERM');
    await this.ended;
  }
}

/** Between two looks at what is waited for: without it the asking would take a processor from what is asked. */
export const pause = () => setTimeout(20);

/** Loads addon.cjs in place of the addon, and that behind it. */
export const disturbedAddon = {
  REAL_ADDON: process.env.FACEMATCH_ADDON ?? projectPath('build/addon/Release/facematch.node'),
  FACEMATCH_ADDON: fileURLToPath(new URL('./addon.cjs', import.meta.url)),
};

/** Runs `serve` to its end, as one does who got something wrong; what it says to people besides its log. */
export async function failingStart(env: Record<string, string>): Promise<string> {
  const home = new Home();
  home.key();
  const fixed = { FACEMATCH_PORT: '0', FACEMATCH_ADMIN_PORT: '0', FACEMATCH_KEYS_FILE: home.keysFile };
  const { code, stdout, stderr } = await facematch('serve', home.folder, { ...fixed, ...env });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  return stderr.replace(/^(\{.*)?\n/gm, '');
}
