import { readFileSync } from 'node:fs';
import { constants } from 'node:os';

/** The signals that end a server. Imports little, because it runs before all else. */

type EndSignal = 'SIGTERM' | 'SIGINT';

/** What comes so soon after the first is the same wish: npm passes on a Ctrl-C that the terminal sent to the server too. */
const same_ms = 1000;

let begin: () => unknown = () => process.exit(0);
let finish: (signal: EndSignal) => void = () => {};
let asked_ms: number | undefined;

/**
 * From now on SIGTERM and SIGINT end the process, until `onEndSignals` says how, and SIGUSR1 opens no debugger. Without a handler a process 1
 * would never hear of them (pid_namespaces(7)).
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
 * Whether a signal came while Node itself started. Node's own handlers of the two, which are used up by one signal, do nothing to a process 1;
 * that one of them is gone is the trace of it.
 */
function wasSignalled(): boolean {
  const status = readFileSync('/proc/self/status', 'utf8');
  const caught = BigInt(`0x${/^SigCgt:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? 0}`);
  const isCaught = (signal: EndSignal) => (caught >> BigInt(constants.signals[signal] - 1)) & 1n;
  return isCaught('SIGTERM') !== isCaught('SIGINT');
}
