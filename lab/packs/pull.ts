import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { sha256 } from 'facematch/for-lab';
import { unzipSync } from 'fflate';
import { cacheFolder, download, hashOf, pathFor, pathOf } from '../download.ts';
import { type Added, addPack, freeDirectory } from './add.ts';
import { downloadsOf, type PublishedNet, type PublishedPack } from './catalogue.ts';

/** Installs a published pack: downloads its files, verifies them, and creates a pack. */

/**
 * Downloads missing files into `folder`, resumes interrupted downloads, and verifies every file before it is
 * used. `target` is the name of the new pack, or its path. Rejects with an Error whose message is meant for the
 * user, and keeps the received data for the next attempt.
 */
export async function pullPack(
  pack: PublishedPack,
  target: string,
  folder: string = cacheFolder(),
): Promise<Added> {
  // Reports an existing pack before a download that takes minutes.
  freeDirectory(target);
  for (const file of downloadsOf(pack)) await download(file, folder);
  const { detector, embedder } = pack.nets;
  return addPack(target, {
    embedder: await netFile(embedder, folder),
    ...(detector && { detector: await netFile(detector, folder) }),
    ...pack.how,
    licence: pack.licence,
    source: pack.project,
  });
}

/** Returns the path of a downloaded model. Extracts the model from any folder of its archive if necessary. */
async function netFile(net: PublishedNet, folder: string): Promise<string> {
  if (!('archive' in net)) return pathOf(folder, net);
  const path = pathFor(folder, net.sha256, net.member);
  if ((await hashOf(path)) === net.sha256) return path;
  const archive = readFileSync(pathOf(folder, net.archive));
  const [bytes] = Object.values(unzipSync(archive, { filter: ({ name }) => basename(name) === net.member }));
  const hash = bytes && sha256(bytes);
  if (bytes === undefined || hash !== net.sha256) {
    throw new Error(
      bytes === undefined
        ? `${net.archive.url} does not contain ${net.member}.`
        : `${net.member} in ${net.archive.url} has the SHA-256 ${hash}, not ${net.sha256}.`,
    );
  }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.part`, bytes);
  renameSync(`${path}.part`, path);
  return path;
}
