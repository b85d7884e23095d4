import type { Addon, OnnxRuntime } from '../../engine/addon.ts';
import type { Uws } from '../../http/uws/uws.ts';

// Loads native code in a child process, because native code may print to standard output or crash the process.
// probe() of machine.ts starts this program with the name and the argument of a probe, and receives the result.

/** Result of each probe. */
export interface Probes {
  /** Loads µWebSockets.js. */
  uws: Pick<Uws, 'version' | 'failures'>;
  addon: { versions: ReturnType<Addon['versions']>; runtime: OnnxRuntime };
  /** Loads the models of a pack; the argument is its directory. */
  pack: undefined;
}

export type ProbeResult = { value: unknown } | { error: string };

const probes: { [Name in keyof Probes]: (argument: string) => Promise<Probes[Name]> } = {
  uws: async () => {
    const { version, failures } = (await import('../../http/uws/uws.ts')).loadUws();
    return { version, failures };
  },
  addon: async () => {
    const addon = (await import('../../engine/load-addon.ts')).loadAddon();
    return { versions: addon.versions(), runtime: addon.onnxRuntime() };
  },
  pack: async (directory) => {
    const { readManifest } = await import('../../engine/manifest.ts');
    (await import('../../engine/load-addon.ts')).loadPack(directory, readManifest(directory));
    return undefined;
  },
};

const [, , name = '', argument = ''] = process.argv;

async function runProbe(): Promise<ProbeResult> {
  try {
    return { value: await probes[name as keyof Probes](argument) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

process.send?.(await runProbe(), () => process.exit());
