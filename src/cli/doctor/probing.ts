import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Addon } from '../../engine/addon.ts';

/** What each probe answers with. */
export interface Probes {
  /** The version of the package that loaded. */
  uws: string;
  addon: ReturnType<Addon['versions']>;
  /** Takes a pack's directory, and loads its nets. */
  pack: undefined;
}

export type Answer = { value: unknown } | { error: string };

const limit_ms = 60_000;

/** Runs a probe in a process of its own. Rejects with what it complained about, or with what ended it. */
export async function probe<Name extends keyof Probes>(name: Name, argument = ''): Promise<Probes[Name]> {
  const file = fileURLToPath(new URL('./probe.js', import.meta.url));
  const child = fork(file, [name, argument], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    timeout: limit_ms,
    killSignal: 'SIGKILL',
  });
  let answer: Answer | undefined;
  let complaints = '';
  child.once('message', (message) => {
    answer = message as Answer;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  if (answer === undefined) {
    const end = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
    const [complaint = ''] = complaints.trim().split('\n');
    throw new Error(`The process that tried it ${end}${complaint && `: ${complaint}`}`);
  }
  if ('error' in answer) throw new Error(answer.error);
  return answer.value as Probes[Name];
}
