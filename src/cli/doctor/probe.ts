import type { Addon } from '../../engine/addon.ts';
import type { Uws } from '../../http/uws.ts';

// A process of its own for native code: what it does to its process, from a line on standard output to a signal that
// ends it, it does to this one. Started by probe() of machine.ts with the name of a probe and its argument; sends its answer.

/** What each probe answers with. */
export interface Probes {
  /** The package that loaded. */
  uws: Pick<Uws, 'version' | 'passedOver'>;
  addon: ReturnType<Addon['versions']>;
  /** Takes a pack's directory, and loads its nets. */
  pack: undefined;
}

export type Answer = { value: unknown } | { error: string };

const probes: { [Name in keyof Probes]: (argument: string) => Promise<Probes[Name]> } = {
  uws: async () => {
    const { version, passedOver } = (await import('../../http/uws.ts')).loadUws();
    return { version, passedOver };
  },
  addon: async () => (await import('../../engine/addon.ts')).loadAddon().versions(),
  pack: async (directory) => {
    (await import('../../engine/addon.ts')).loadAddon().loadPack(directory);
    return undefined;
  },
};

const [, , name = '', argument = ''] = process.argv;

async function answer(): Promise<Answer> {
  try {
    return { value: await probes[name as keyof Probes](argument) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

process.send?.(await answer(), () => process.exit());
