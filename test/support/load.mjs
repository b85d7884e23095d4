// Load generator: sends forms on keep-alive HTTP/1.1 connections, each request with a unique id. Checks that no
// response is lost, duplicated, or belongs to another request.
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';

export const boundary = 'facematch-load-boundary';
export const content_type = `multipart/form-data; boundary=${boundary}`;

/**
 * Builds a multipart/form-data body. Bytes become file parts, strings become text parts, and an array repeats its
 * field.
 */
export function form(fields) {
  const parts = Object.entries(fields).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((item) => {
      const file = typeof item === 'string' ? '' : `; filename="${name}.bin"`;
      const headerText = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`;
      return [Buffer.from(headerText), Buffer.from(item), Buffer.from('\r\n')];
    }),
  );
  return Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]);
}

const header = (headerText, name) => new RegExp(`\\r\\n${name}: *([^\\r]*)`, 'i').exec(headerText)?.[1];

/**
 * Parses the complete responses in the bytes of a connection: { status, headerText, request_id, closes, json, body,
 * end }, where `end` is the offset after the response. `headerText` is Latin-1. Interim responses are omitted.
 * `isHead`: the responses have no body, even with a Content-Length.
 */
export function parseResponses(bytes, isHead = false) {
  const responses = [];
  for (let at = 0; ; ) {
    const headersEnd = bytes.indexOf('\r\n\r\n', at);
    if (headersEnd === -1) return responses;
    const headerText = bytes.toString('latin1', at, headersEnd);
    const status = Number(headerText.slice(9, 12));
    const bodiless = isHead || status < 200 || status === 204;
    const end = headersEnd + 4 + (bodiless ? 0 : Number(header(headerText, 'content-length') ?? 0));
    if (end > bytes.length) return responses;
    if (status >= 200) {
      responses.push({
        status,
        headerText,
        request_id: header(headerText, 'x-request-id'),
        closes: header(headerText, 'connection') === 'close',
        json: /^application\/(problem\+)?json/.test(header(headerText, 'content-type') ?? ''),
        body: bytes.subarray(headersEnd + 4, end),
        end,
      });
    }
    at = end;
  }
}

/** A connection that carries one request at a time. */
class Line {
  #socket;
  #received = Buffer.alloc(0);
  #current;
  #onStray;
  open = true;

  constructor(port, onStray) {
    this.#onStray = onStray;
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('error', () => {});
    this.#socket.on('data', (data) => this.#data(data));
    this.#socket.on('close', () => this.#end());
  }

  /** Resolves to the response, or to undefined if the connection ends before. */
  send(headerText, body, request_id) {
    return new Promise((resolve) => {
      this.#current = { resolve, request_id };
      this.#socket.cork();
      this.#socket.write(headerText, 'latin1');
      this.#socket.write(body);
      this.#socket.uncork();
    });
  }

  close() {
    this.open = false;
    this.#socket.destroy();
  }

  #data(data) {
    this.#received = this.#received.length === 0 ? data : Buffer.concat([this.#received, data]);
    const responses = parseResponses(this.#received);
    if (responses.length === 0) return;
    this.#received = this.#received.subarray(responses.at(-1).end);
    for (const response of responses) {
      const current = this.#current;
      this.#current = undefined;
      if (response.closes) this.open = false;
      // Servers other than facematch may send no ids.
      if (current === undefined || (response.request_id ?? current.request_id) !== current.request_id)
        this.#onStray();
      current?.resolve(response);
    }
  }

  #end() {
    this.open = false;
    this.#current?.resolve(undefined);
    this.#current = undefined;
  }
}

export class Load {
  #target;
  #bodies;
  #idle = [];
  #pending = new Set();
  sent = 0;
  lost = 0;
  /** Responses without a pending request, or with another request's id. */
  stray = 0;
  /**
   * { request_id, status, ms, late_ms, at }: `at` is performance.now() at the response, and `late_ms` the delay with
   * which the request was sent.
   */
  responses = [];

  /** `target` is { port, key, path, content_type }. The bodies are sent in rotation. */
  constructor(target, bodies) {
    this.#target = { path: '/API/v1.0/face/match/upload', content_type, ...target };
    this.#bodies = bodies;
  }

  /** `due`: scheduled time of the request in an open loop (performance.now()). */
  async one(due) {
    const { path, port, key, content_type } = this.#target;
    const request_id = randomUUID();
    const body = this.#bodies[this.sent++ % this.#bodies.length];
    const headerText =
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Api-Key: ${key}\r\n` +
      `X-Request-Id: ${request_id}\r\nContent-Type: ${content_type}\r\nContent-Length: ${body.length}\r\n\r\n`;
    let line = this.#idle.pop();
    while (line && !line.open) line = this.#idle.pop();
    line ??= new Line(port, () => {
      this.stray += 1;
    });
    const start = performance.now();
    const response = await line.send(headerText, body, request_id);
    const at = performance.now();
    if (response === undefined) this.lost += 1;
    else {
      const { status } = response;
      this.responses.push({ request_id, status, ms: at - start, late_ms: start - (due ?? start), at });
    }
    if (line.open) this.#idle.push(line);
  }

  /**
   * Closed loop: each of `clients` clients sends one request after another while `goesOn` returns true.
   */
  async closedLoop(clients, goesOn) {
    const client = async () => {
      while (goesOn()) await this.one();
    };
    await Promise.all(Array.from({ length: clients }, client));
  }

  /**
   * Open loop: sends requests at a fixed rate per second without waiting for responses. Resolves when every request
   * has a response or is lost.
   */
  async openLoop(rate, seconds) {
    const start = performance.now();
    const total = Math.round(rate * seconds);
    for (let count = 0; count < total; ) {
      const due = Math.min(total, Math.ceil(((performance.now() - start) / 1000) * rate));
      for (; count < due; count++) {
        const request = this.one(start + (count / rate) * 1000).finally(() => this.#pending.delete(request));
        this.#pending.add(request);
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await Promise.all(this.#pending);
  }

  /** Returns the responses per second with this status, from `from` until `to` (performance.now()). */
  rate(status, from, to) {
    const counted = this.responses.filter((one) => one.status === status && one.at >= from && one.at < to);
    return counted.length / ((to - from) / 1000);
  }

  close() {
    for (const line of this.#idle) line.close();
  }
}

/** Returns a condition for a closed loop that is true for the given seconds. */
export function lasting(seconds) {
  const end = performance.now() + seconds * 1000;
  return () => performance.now() < end;
}
