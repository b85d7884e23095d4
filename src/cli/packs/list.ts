import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readConfig } from '../../config/config.ts';
import { projectPath } from '../../config/paths.ts';
import { type Manifest, packDirectory, readManifest } from '../../engine/manifest.ts';
import { packFiles, verifyPack } from '../../engine/pack-files.ts';
import type { Colours } from '../terminal.ts';

/** An installed pack, as --json prints it. */
type ListedPack = Awaited<ReturnType<typeof listed>>;

/** Lists all packs in the default folders, and the configured pack wherever it is. */
export async function listPacks(): Promise<ListedPack[]> {
  // An installation from npm may have two such folders.
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

async function listed(directory: string, configured: boolean) {
  let draft: Manifest;
  try {
    draft = readManifest(directory);
  } catch (error) {
    return { name: basename(directory), directory, configured, fault: (error as Error).message };
  }
  const { name, version, description, source, calibration } = draft;
  const not_ready = await verifyPack(directory, draft).then(
    () => undefined,
    ({ message }: Error) => message,
  );
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
    // The people on whom the pack's tables were fitted.
    ...(calibration && {
      calibrated_for: { fast: calibration.fast.fitted_on, balance: calibration.balance.fitted_on },
    }),
    not_ready,
  };
}

export function describeListed(pack: ListedPack, { bold, yellow }: Colours): string {
  const line = (what: string, value: string) => `  ${what.padEnd('close_detector'.length)}  ${value}`;
  const flaw = (what: string, value: string) => line(what, value).replace(what, yellow(what));
  const used = pack.configured ? ' (configured)' : '';
  const name = 'fault' in pack ? pack.name : `${pack.name} ${pack.version}`;
  const lines = [`${bold(name)}${used}`, line('in', pack.directory)];
  if ('fault' in pack) return [...lines, flaw('faulty', pack.fault), ''].join('\n');
  for (const { role, file, pack: owner, licence, sha256 } of pack.files) {
    const from = owner === pack.name ? '' : `, from the pack ${owner}`;
    lines.push(line(role, `${file}, ${licence}, SHA-256 ${sha256.slice(0, 12)}…${from}`));
  }
  const { calibrated_for: people, not_ready } = pack;
  lines.push(
    people === undefined
      ? flaw('not calibrated', 'confidence_percent never exceeds 40')
      : line('calibrated for', people.balance),
  );
  if (not_ready !== undefined) lines.push(flaw('not ready', not_ready));
  return [...lines, ''].join('\n');
}
