import { readFileSync } from 'node:fs';
import { constants } from 'node:os';

/** Signals that end a server. This file imports little, because it runs before everything else. */

type EndSignal = 'SIGTERM' | 'SIGINT';

/**
 * A second signal within this time is ignored, because npm forwards a Ctrl-C that the terminal already sent.
 */
const same_ms = 1000;

let begin: () => unknown = () => process.exit(0);
let finish: (signal: EndSignal) => void = () => {};
let asked_ms: number | undefined;

/**
 * From now on SIGTERM and SIGINT end the process, until `onEndSignals` replaces that, and SIGUSR1 opens no
 * debugger. Without a handler a process with PID 1 would never get them (pid_namespaces(7)).
 */
export function holdSignals(): void {
  if (process.pid === 1 && wasSignalled()) process.exit(0);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => hear(signal));
  process.on('SIGUSR1', () => {});
}

/** `first` is called once; `later` for a signal that comes more than a second after. */
export function onEndSignals(first: () => unknown, later: (signal: EndSignal) => void): void {
  begin = first;
  finish = later;
}

function hear(signal: EndSignal): void {
  const now = performance.now();
  if (asked_ms === undefined) {
    asked_ms = now;
    begin();
  } else if (now - asked_ms >= same_ms) finish(signal);
}

/**
 * Returns true if a signal arrived while Node itself started. Node's own handlers for the two are removed by
 * one signal, and do nothing for PID 1; a missing handler reveals the signal.
 */
function wasSignalled(): boolean {
  const status = readFileSync('/proc/self/status', 'utf8');
  const caught = BigInt(`0x${/^SigCgt:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? 0}`);
  const isCaught = (signal: EndSignal) => (caught >> BigInt(constants.signals[signal] - 1)) & 1n;
  return isCaught('SIGTERM') !== isCaught('SIGINT');
}
