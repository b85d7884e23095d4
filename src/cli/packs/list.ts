import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readConfig } from '../../config/config.ts';
import { projectPath } from '../../config/paths.ts';
import { type Manifest, packDirectory, readManifest } from '../../engine/manifest.ts';
import { packFiles, verifyPack } from '../../engine/pack-files.ts';
import type { Colours } from '../terminal.ts';

/** An installed pack. Part of the output of --json. */
interface ListedPack {
  name: string;
  directory: string;
  /** Whether it is the one that a server would load. */
  configured: boolean;
  /** Why it cannot be used, if so; the rest is then missing. */
  fault?: string;
  version?: string;
  description?: string;
  licence?: string;
  files?: { role: string; file: string; pack: string; licence: string; sha256: string }[];
  /** By mode, the people of its tables; absent when nobody has calibrated it. */
  calibrated_for?: { fast: string; balance: string };
  /** Why its files cannot be loaded, if so. */
  not_ready?: string;
}

/** Every pack beside the default one, and the configured one wherever it is. */
export async function listPacks(): Promise<ListedPack[]> {
  // Of an installation from npm these are two.
  const homes = new Set([dirname(packDirectory('default')), projectPath('models/packs')]);
  const configured = packDirectory(readConfig().pack);
  const all = new Set([...[...homes].filter(existsSync).flatMap(packsIn), configured]);
  return Promise.all([...all].map((directory) => listed(directory, directory === configured)));
}

function packsIn(home: string): string[] {
  return readdirSync(home, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map(({ name }) => join(home, name))
    .sort();
}

async function listed(directory: string, configured: boolean): Promise<ListedPack> {
  let draft: Manifest;
  try {
    draft = readManifest(directory);
  } catch (error) {
    return { name: basename(directory), directory, configured, fault: (error as Error).message };
  }
  const { name, version, description, source, calibration } = draft;
  const fault = await verifyPack(directory, draft).catch((error: Error) => error);
  return {
    name,
    directory,
    configured,
    version,
    description,
    licence: source.licence,
    files: packFiles(draft).map(({ role, file, pack, licence, sha256 }) => {
      return { role, file, pack, licence, sha256 };
    }),
    ...(calibration && {
      calibrated_for: { fast: calibration.fast.fitted_on, balance: calibration.balance.fitted_on },
    }),
    ...(fault && { not_ready: fault.message }),
  };
}

export function describeListed(pack: ListedPack, { bold, yellow }: Colours): string {
  const line = (what: string, value: string) => `  ${what.padEnd('close_detector'.length)}  ${value}`;
  const flaw = (what: string, value: string) => line(what, value).replace(what, yellow(what));
  const used = pack.configured ? ', which a server would load' : '';
  const lines = [`${bold(`${pack.name} ${pack.version ?? ''}`.trim())}${used}`, line('in', pack.directory)];
  if (pack.fault !== undefined) return [...lines, flaw('faulty', pack.fault), ''].join('\n');
  for (const { role, file, pack: owner, licence, sha256 } of pack.files ?? []) {
    const from = owner === pack.name ? '' : `, of the pack ${owner}`;
    lines.push(line(role, `${file}, ${licence}, SHA-256 ${sha256.slice(0, 12)}…${from}`));
  }
  const { calibrated_for: people, not_ready } = pack;
  lines.push(
    people === undefined
      ? flaw('not calibrated', 'no answer passes 40 percent')
      : line('calibrated for', people.balance),
  );
  if (not_ready !== undefined) lines.push(flaw('not ready', not_ready));
  return [...lines, ''].join('\n');
}
