import { type Check, type Finding, firstLine, type Status, wrong } from './finding.ts';

/**
 * What is looked at, in the order of its lines. Each check is loaded when it is made, alone: one that needs something
 * that is not there becomes a line, and the others go on.
 */
const checks: readonly Check[] = [
  { what: 'settings', look: async () => (await import('./settings.ts')).settings(), cure: 'npm run setup' },
  { what: 'Node', look: async () => (await import('./platform.ts')).node(), cure: 'npm run setup' },
  { what: 'system', look: async () => (await import('./platform.ts')).system(), cure: 'npm run setup' },
  { what: 'npm packages', look: async () => (await import('./packages.ts')).packages(), cure: 'npm ci' },
  { what: 'µWebSockets.js', look: async () => (await import('./libraries.ts')).uws(), cure: 'npm ci' },
  {
    what: 'native addon',
    look: async () => (await import('./libraries.ts')).addon(),
    cure: 'npm run setup',
  },
  { what: 'CPU', look: async () => (await import('./cpu.ts')).cpu(), cure: 'npm run setup' },
  { what: 'workers', look: async () => (await import('./cpu.ts')).workers(), cure: 'npm run setup' },
  { what: 'model pack', look: async () => (await import('./model-pack.ts')).modelPack(), cure: 'npm ci' },
  { what: 'key file', look: async () => (await import('./key-file.ts')).keyFile(), cure: 'npm ci' },
  { what: 'limiter', look: async () => (await import('./limiter.ts')).limiter(), cure: 'npm ci' },
  { what: 'TLS', look: async () => (await import('./tls.ts')).tls(), cure: 'npm run setup' },
  { what: 'ports', look: async () => (await import('./ports.ts')).ports(), cure: 'npm run setup' },
];

/** All findings in order, each as soon as it and those before it are known. Never throws. */
export async function* examine(): AsyncGenerator<Finding> {
  const running = checks.map(findingsOf);
  for (const findings of running) yield* await findings;
}

async function findingsOf({ what, look, cure }: Check): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    return [wrong(what, firstLine(error), cure)];
  }
}

export interface Verdict {
  ok: boolean;
  counts: Readonly<Record<Status, number>>;
}

/** `strict`: warnings count as well. */
export function verdictOf(findings: readonly Finding[], strict: boolean): Verdict {
  const counts = { ok: 0, warning: 0, wrong: 0, unknown: 0 };
  for (const { status } of findings) counts[status] += 1;
  return { ok: counts.wrong === 0 && (!strict || counts.warning === 0), counts };
}
