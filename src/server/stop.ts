import { setTimeout as pause } from 'node:timers/promises';
import type { Engine } from '../engine/engine.ts';
import type { Dispatcher } from '../http/dispatch.ts';
import type { Listening } from '../http/listening.ts';

/** How long handshakes that have begun may take: a round trip to the other side of the world. */
const handshake_ms = 250;

/** Kept connections are closed when no request has come on any of them for so long: clients that are in use send sooner. */
const quiet_ms = 500;

const check_ms = 25;

/**
 * Ends the connections of a listener without a reset. New ones are not accepted any more, but those whose handshake has begun are.
 * Requests under way are answered, those that come on kept connections are refused with `Connection: close`. Resolves when no
 * connection is left, or when no client seems to use one. The readiness has to say `draining` before.
 */
export async function drain(
  front: Listening,
  engine: Pick<Engine, 'dropNewConnections'>,
  dispatcher: Pick<Dispatcher, 'quiet_ms'>,
): Promise<void> {
  engine.dropNewConnections(front.port);
  await pause(handshake_ms);
  front.stopListening();
  const since = performance.now();
  const isQuiet = () => Math.min(dispatcher.quiet_ms, performance.now() - since + handshake_ms) >= quiet_ms;
  while (front.connections.open > 0 && !isQuiet()) await pause(check_ms);
}

/** Whether `work` ended in time. Also keeps the process alive, which piscina's workers do not. */
export function within(limit_ms: number, work: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout;
  const limit = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), limit_ms);
  });
  return Promise.race([work.then(() => true), limit]).finally(() => clearTimeout(timer));
}
