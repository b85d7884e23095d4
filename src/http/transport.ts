import { uwsFolder } from '../config/environment.ts';
import type { ListenerOptions, Listening } from './listening.ts';
import { NodeListener } from './node/listener.ts';
import { UwsListener } from './uws/listener.ts';
import { loadUws, type Uws } from './uws/uws.ts';

export type TransportName = 'uws' | 'node';

/** What speaks HTTP. Beyond it nobody sees which of the two it is. */
export interface Transport {
  readonly name: TransportName;
  readonly uws: string | undefined;
  /** Why it is not the one that was preferred; undefined when it is. */
  readonly reason: string | undefined;
  /** Rejects with an Error for people when it cannot listen, or cannot use the certificate. */
  open(options: ListenerOptions): Promise<Listening>;
}

/** `auto`: µWebSockets.js, or node:http where no binary of it loads. Throws an Error for people when `uws` does not load. */
export function chooseTransport(wish: TransportName | 'auto'): Transport {
  let reason: string | undefined;
  try {
    if (wish !== 'node') return uwsTransport(loadUws());
  } catch (error) {
    const { message } = error as Error;
    if (wish === 'uws') throw new Error(`FACEMATCH_HTTP=uws: ${message}\nSet FACEMATCH_HTTP=auto.`);
    reason = message.split('\n')[0];
  }
  return { name: 'node', uws: undefined, reason, open: NodeListener.open };
}

function uwsTransport(uws: Uws): Transport {
  return {
    name: 'uws',
    uws: uws.version,
    // Without FACEMATCH_UWS, that the newer build does not load says nothing wrong.
    reason: uwsFolder() === undefined ? undefined : uws.passedOver[0],
    open: (options) => UwsListener.open(uws, options),
  };
}
