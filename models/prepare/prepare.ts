import { randomUUID } from 'node:crypto';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Manifest,
  type PackNet,
  packDirectory,
  packNets,
  type Role,
  readManifest,
} from '../../src/engine/manifest.ts';
import { sha256, verifiedFile, verifyFile } from '../../src/engine/pack-files.ts';
import { fetchOriginals, type ProvidedFiles, readFromOtherPack, withAdvice } from './origins.ts';

/**
 * Writes the prepared models of a pack next to its manifest. Resolves to `ready` if all of them already match the
 * manifest, and to `prepared` if some had to be made. Calls `report` with a line for each step. Rejects with an Error
 * whose message is meant for the user.
 */
export async function preparePack(
  name: string,
  report: (line: string) => void,
  files: ProvidedFiles = {},
): Promise<'ready' | 'prepared'> {
  const directory = packDirectory(name);
  const manifest = readManifest(directory);
  const unready = await unreadyNets(directory, manifest);
  if (unready.size === 0) return 'ready';

  const scratch = await withAdvice('making a temporary folder', mkdtemp(join(tmpdir(), 'facematch-models-')));
  try {
    const originals = await fetchOriginals(manifest, unready, { directory, files, scratch, report });
    // Prepares and verifies all models before it writes the first, so that an error leaves the pack unchanged.
    const prepared: { file: string; bytes: Uint8Array }[] = [];
    for (const [role, net] of unready) {
      const original = originals.get(role);
      prepared.push({
        file: net.file,
        bytes: original
          ? await prepareNet(net, directory, original, report)
          : await readFromOtherPack(manifest, role, net, report),
      });
    }
    for (const net of prepared) await writeAtomically(join(directory, net.file), net.bytes);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  return 'prepared';
}

async function unreadyNets(directory: string, manifest: Manifest): Promise<Map<Role, PackNet>> {
  const nets = [...packNets(manifest)];
  const ready = await Promise.all(
    nets.map(([role, { file, sha256 }]) =>
      verifyFile(directory, manifest, { role, file, sha256 }).then(
        () => true,
        () => false,
      ),
    ),
  );
  return new Map(nets.filter((_, index) => !ready[index]));
}

async function prepareNet(
  net: PackNet,
  directory: string,
  original: Uint8Array,
  report: (line: string) => void,
): Promise<Uint8Array> {
  // The original already has this hash, because its source_sha256 was verified.
  if (net.sha256 === net.source_sha256) {
    report(`Using ${net.from} as ${net.file}`);
    return original;
  }
  const bytes = await remake(net, directory, original, report);
  const actual = sha256(bytes);
  if (actual !== net.sha256) {
    throw new Error(
      `The rewritten ${net.file} has the SHA-256 ${actual}, but the manifest expects ${net.sha256}. ` +
        'A rewrite, the onnx-proto package or the manifest has changed. Pin the new hash if that was intended.',
    );
  }
  return bytes;
}

/** Converts or rewrites a published model. Verifies that a rewritten model computes the same results. */
async function remake(
  net: PackNet,
  directory: string,
  original: Uint8Array,
  report: (line: string) => void,
): Promise<Uint8Array> {
  if (String(net.from).endsWith('.tflite')) {
    report(`Converting ${net.from} to ${net.file}`);
    const { onnxOf } = await import('./from-tflite.ts');
    return onnxOf(original);
  }
  report(`Rewriting ${net.from} to ${net.file}`);
  const { rewriteNet } = await import('./rewrite.ts');
  const { quantiseNet } = await import('./int8/index.ts');
  const { verifyRewrite } = await import('./verify.ts');
  const plan = 'int8' in net ? net.int8 : undefined;
  const planned =
    plan && (await verifiedFile(join(directory, plan.file), plan.sha256, 'from the repository'));
  const bytes = planned
    ? quantiseNet(original, JSON.parse(Buffer.from(planned).toString()))
    : rewriteNet(original);
  await verifyRewrite(net, original, bytes);
  return bytes;
}

/** Writes a file atomically: under a temporary name in the same folder, which is then renamed. */
async function writeAtomically(file: string, bytes: Uint8Array): Promise<void> {
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
