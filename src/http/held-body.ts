import { Problem } from '../errors.ts';
import { type Allocate, type Body, bodyOf } from './body.ts';
import type { Context } from './context.ts';

/** What comes of a body before somebody reads it. */
export class HeldBody {
  readonly #body: Body;
  readonly #limit: number;
  #fault: Error | undefined;

  /** As bodyOf. */
  constructor(length: number | undefined, limit: number, allocate: Allocate) {
    this.#body = bodyOf(length, limit, allocate);
    this.#limit = limit;
  }

  /** Never throws, since it is called by µWS; `take` does instead. */
  add(chunk: ArrayBuffer): void {
    if (this.#fault !== undefined) return;
    try {
      if (!this.#body.add(chunk)) this.#fault = new Problem('body_too_large', { limit_bytes: this.#limit });
    } catch (error) {
      this.#fault = error as Error;
    }
  }

  /** The body so far, for who adds the rest. Throws Problem body_too_large, or what there was no memory for. */
  take(): Body {
    if (this.#fault !== undefined) throw this.#fault;
    return this.#body;
  }
}

/**
 * Keeps what comes of a body before its handler can ask for it, under the limits that the handler will keep: one body's
 * length, and the memory of all together. What passes them is not kept, and the handler refuses such a request.
 * Returns what frees the memory for the handler to reserve; call it once, right before the handler or the refusal.
 */
export function holdBody({ exchange, services }: Context): (() => void) | undefined {
  const limit = services.config.max_body_bytes;
  const length = exchange.request.content_length ?? limit;
  if (length > limit) return undefined;
  const release = services.uploads.reserve(length);
  if (release !== undefined) exchange.hold(limit, (bytes) => services.bodies.take(bytes));
  return release;
}
