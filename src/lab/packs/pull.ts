import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { unzipSync } from 'fflate';
import { Agent, EnvHttpProxyAgent, fetch } from 'undici';
import { cacheFolder, hasProxy } from '../../config/environment.ts';
import { sha256 } from '../../engine/manifest.ts';
import { type Added, addPack, freeDirectory } from './add.ts';
import { type Download, downloadsOf, type PublishedNet, type PublishedPack } from './catalogue.ts';

/** Gets a published pack: downloads its files, checks them, and makes a pack of them. */

interface PullOptions {
  /** The pack's name here, or a path to it. */
  target: string;
  /** Bytes that have come, of all that are downloaded. */
  onProgress?(bytes: number): void;
  /** Where downloads are kept, to be resumed and used again. */
  folder?: string;
}

/**
 * Downloads what is missing, resumes what was cut off, and verifies every file before it is used. Rejects with an Error with a
 * message for people; what has come is kept for the next try.
 */
export async function pullPack(pack: PublishedPack, options: PullOptions): Promise<Added> {
  const { target, onProgress = () => {}, folder = cacheFolder() } = options;
  // Before a download of minutes.
  freeDirectory(target);
  let before = 0;
  for (const download of downloadsOf(pack)) {
    const offset = before;
    await get(download, folder, (bytes) => onProgress(offset + bytes));
    before += download.bytes;
  }
  const { detector, embedder } = pack.nets;
  return addPack(target, {
    embedder: netFile(embedder, folder),
    ...(detector && { detector: netFile(detector, folder) }),
    ...pack.how,
    licence: pack.licence,
    project: pack.project,
  });
}

/** A verified file lies in a folder of its hash. */
const pathFor = (folder: string, sha: string, name: string) => join(folder, sha.slice(0, 16), name);
const pathOf = (folder: string, download: Download) =>
  pathFor(folder, download.sha256, basename(new URL(download.url).pathname));

async function get(download: Download, folder: string, onProgress: (bytes: number) => void): Promise<void> {
  const path = pathOf(folder, download);
  if (hashOf(path) === download.sha256) {
    onProgress(download.bytes);
    return;
  }
  const part = `${path}.part`;
  mkdirSync(dirname(part), { recursive: true });
  await fetchInto(part, download, onProgress);
  const hash = hashOf(part);
  if (hash !== download.sha256) {
    rmSync(part);
    throw new Error(`${download.url} has the SHA-256 ${hash}, not ${download.sha256}: it is not used.`);
  }
  renameSync(part, path);
}

/** No byte for so long ends a download. */
const stalled_ms = 60_000;

/** Appends what is missing. */
async function fetchInto(part: string, { url, bytes }: Download, onProgress: (bytes: number) => void) {
  let have = Math.min(statSync(part, { throwIfNoEntry: false })?.size ?? 0, bytes);
  if (have === bytes) return;
  const timeouts = { headersTimeout: stalled_ms, bodyTimeout: stalled_ms };
  // The first reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
  const dispatcher = hasProxy() ? new EnvHttpProxyAgent(timeouts) : new Agent(timeouts);
  try {
    const headers = have > 0 ? { range: `bytes=${have}-` } : {};
    const response = await fetch(url, { headers, dispatcher });
    if (!isSafe(response.url)) throw new Error(`${url} leads to ${response.url}, which is not HTTPS.`);
    if (!response.ok || response.body === null) throw new Error(`${url} answered ${response.status}.`);
    // The server may not know ranges.
    if (response.status !== 206) have = 0;
    if (have === 0) rmSync(part, { force: true });
    for await (const chunk of response.body) {
      have += chunk.length;
      if (have > bytes) throw new Error(`${url} has more than the ${bytes} bytes that it should have.`);
      appendFileSync(part, chunk);
      onProgress(have);
    }
  } catch (error) {
    // fetch hides why a connection failed in the error's cause.
    const { message, cause } = error as Error;
    const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
    throw new Error(`${reason}\nWhat has come is kept; run the command again to go on.`, { cause: error });
  } finally {
    await dispatcher.close();
  }
  if (have < bytes) {
    throw new Error(`${url} ended after ${have} of ${bytes} bytes. Run the command again to go on.`);
  }
}

function isSafe(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || hostname === '127.0.0.1';
}

/** The file of a net that was downloaded, taken out of its archive first, whatever folder it is in there. */
function netFile(net: PublishedNet, folder: string): string {
  if (!('archive' in net)) return pathOf(folder, net);
  const path = pathFor(folder, net.sha256, net.member);
  if (hashOf(path) === net.sha256) return path;
  const archive = readFileSync(pathOf(folder, net.archive));
  const [bytes] = Object.values(unzipSync(archive, { filter: ({ name }) => basename(name) === net.member }));
  const hash = bytes && sha256(bytes);
  if (bytes === undefined || hash !== net.sha256) {
    throw new Error(
      `${net.member} in ${net.archive.url} has the SHA-256 ${hash ?? 'none'}, not ${net.sha256}.`,
    );
  }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.part`, bytes);
  renameSync(`${path}.part`, path);
  return path;
}

/** The SHA-256 of a file; undefined without one. */
function hashOf(path: string): string | undefined {
  return existsSync(path) ? sha256(readFileSync(path)) : undefined;
}
