import { readFileSync } from 'node:fs';
import { constants } from 'node:os';

/** Handles the signals that end a server. This file imports little, because it runs first. */

type EndSignal = 'SIGTERM' | 'SIGINT';

/** A second signal within this time is ignored, because npm forwards a Ctrl-C that the terminal already sent. */
const duplicate_ms = 1000;

let begin: () => unknown = () => process.exit(0);
let finish: (signal: EndSignal) => void = () => {};
/** performance.now() of the first signal. */
let first_ms: number | undefined;

/**
 * Installs handlers that end the process on SIGTERM and SIGINT until `onEndSignals` replaces them, and that prevent
 * SIGUSR1 from opening a debugger. Without a handler, a process with PID 1 never gets the signals
 * (pid_namespaces(7)).
 */
export function holdSignals(): void {
  if (process.pid === 1 && wasSignalled()) process.exit(0);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => handleSignal(signal));
  process.on('SIGUSR1', () => {});
}

/** `first`: called for the first signal. `later`: called for each signal at least one second after the first. */
export function onEndSignals(first: () => unknown, later: (signal: EndSignal) => void): void {
  begin = first;
  finish = later;
}

function handleSignal(signal: EndSignal): void {
  const now = performance.now();
  if (first_ms === undefined) {
    first_ms = now;
    begin();
  } else if (now - first_ms >= duplicate_ms) finish(signal);
}

/**
 * Returns true if a signal arrived while Node started. Node's own handlers for SIGTERM and SIGINT do nothing for
 * PID 1, but a handler is removed when its signal arrives, so a missing handler reveals the signal.
 */
function wasSignalled(): boolean {
  const status = readFileSync('/proc/self/status', 'utf8');
  const caught = BigInt(`0x${/^SigCgt:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? 0}`);
  const isCaught = (signal: EndSignal) => (caught >> BigInt(constants.signals[signal] - 1)) & 1n;
  return isCaught('SIGTERM') !== isCaught('SIGINT');
}
