// Requests on kept connections, each with an id of its own, and an account of every answer: none may be lost, none may come
// twice, none may be another's.
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { parseAnswers } from './answers.mjs';
import { content_type } from './form.mjs';

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

  /** Resolves to the answer, or to undefined when the connection ends before. */
  send(bytes, request_id) {
    return new Promise((resolve) => {
      this.#current = { resolve, request_id };
      this.#socket.write(bytes);
    });
  }

  close() {
    this.open = false;
    this.#socket.destroy();
  }

  #data(data) {
    this.#received = Buffer.concat([this.#received, data]);
    for (const answer of parseAnswers(this.#received)) {
      const current = this.#current;
      this.#current = undefined;
      if (answer.closes) this.open = false;
      if (current === undefined || current.request_id !== answer.request_id) this.#onStray(answer);
      current?.resolve(answer);
    }
    const end = parseAnswers(this.#received).at(-1)?.end;
    if (end !== undefined) this.#received = this.#received.subarray(end);
  }

  #end() {
    this.open = false;
    this.#current?.resolve(undefined);
    this.#current = undefined;
  }
}

export class Load {
  #server;
  #bodies;
  #path;
  #idle = [];
  #pending = new Set();
  sent = 0;
  lost = 0;
  /** Answers that nobody waited for, or that carry another request's id. */
  stray = 0;
  /** { request_id, status, ms, late_ms, at }: `at` is performance.now() of the answer, `late_ms` how late its request was sent. */
  answers = [];

  constructor(server, bodies, path = '/API/v1.0/face/match/upload') {
    this.#server = server;
    this.#bodies = bodies;
    this.#path = path;
  }

  /** `due`: when an open loop meant to send it (performance.now()). */
  async one(due) {
    const request_id = randomUUID();
    const body = this.#bodies[this.sent++ % this.#bodies.length];
    const head =
      `POST ${this.#path} HTTP/1.1\r\nHost: bench\r\nX-Api-Key: ${this.#server.key}\r\n` +
      `X-Request-Id: ${request_id}\r\nContent-Type: ${content_type}\r\nContent-Length: ${body.length}\r\n\r\n`;
    let line = this.#idle.pop();
    while (line && !line.open) line = this.#idle.pop();
    line ??= new Line(this.#server.port, () => {
      this.stray += 1;
    });
    const start = performance.now();
    const answer = await line.send(Buffer.concat([Buffer.from(head), body]), request_id);
    const at = performance.now();
    if (answer === undefined) this.lost += 1;
    else {
      const { status } = answer;
      this.answers.push({ request_id, status, ms: at - start, late_ms: start - (due ?? start), at });
    }
    if (line.open) this.#idle.push(line);
  }

  /** So many at once, each followed by the next, for `seconds`. */
  async closedLoop(concurrency, seconds) {
    const end = performance.now() + seconds * 1000;
    const client = async () => {
      while (performance.now() < end) await this.one();
    };
    await Promise.all(Array.from({ length: concurrency }, client));
  }

  /** So many a second, whether or not those before have been answered. Resolves when the last one is. */
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

  /** Answers of a status a second, among those that came from `from` to `to` (performance.now()). */
  rate(status, from, to) {
    const counted = this.answers.filter(
      (answer) => answer.status === status && answer.at >= from && answer.at < to,
    );
    return counted.length / ((to - from) / 1000);
  }

  close() {
    for (const line of this.#idle) line.close();
  }
}
