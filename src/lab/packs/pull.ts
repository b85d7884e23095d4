import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Unzip, UnzipInflate } from 'fflate';
import { Agent, EnvHttpProxyAgent, fetch } from 'undici';
import { cacheFolder, hasProxy } from '../../config/environment.ts';
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
    embedder: await netFile(embedder, folder),
    ...(detector === undefined ? {} : { detector: await netFile(detector, folder) }),
    ...pack.how,
    licence: pack.licence,
    project: pack.project,
  });
}

/** A verified file lies in a folder of its hash. */
const pathFor = (folder: string, sha256: string, name: string) => join(folder, sha256.slice(0, 16), name);
const pathOf = (folder: string, { url, sha256 }: Download) =>
  pathFor(folder, sha256, basename(new URL(url).pathname));

async function get(download: Download, folder: string, onProgress: (bytes: number) => void): Promise<void> {
  const path = pathOf(folder, download);
  if (sizeOf(path) === download.bytes && (await sha256Of(path)) === download.sha256) {
    onProgress(download.bytes);
    return;
  }
  const part = `${path}.part`;
  mkdirSync(dirname(part), { recursive: true });
  await fetchInto(part, download, onProgress);
  const hash = await sha256Of(part);
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
  let have = Math.min(sizeOf(part), bytes);
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
    const file = await open(part, have > 0 ? 'a' : 'w');
    try {
      for await (const chunk of response.body) {
        have += chunk.length;
        if (have > bytes) throw new Error(`${url} has more than the ${bytes} bytes that it should have.`);
        await file.write(chunk);
        onProgress(have);
      }
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new Error(`${reasonOf(error)}\nWhat has come is kept; run the command again to go on.`, {
      cause: error,
    });
  } finally {
    await dispatcher.close();
  }
  if (have < bytes) {
    throw new Error(`${url} ended after ${have} of ${bytes} bytes. Run the command again to go on.`);
  }
}

/** fetch hides why a connection failed in the error's cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

const isSafe = (url: string) => {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || hostname === '127.0.0.1';
};

/** The file of a net that was downloaded, taken out of its archive first. */
async function netFile(net: PublishedNet, folder: string): Promise<string> {
  if (!('archive' in net)) return pathOf(folder, net);
  const path = pathFor(folder, net.sha256, net.member);
  if (sizeOf(path) > 0 && (await sha256Of(path)) === net.sha256) return path;
  const part = `${path}.part`;
  mkdirSync(dirname(part), { recursive: true });
  await unzip(pathOf(folder, net.archive), net.member, part);
  const hash = sizeOf(part) > 0 ? await sha256Of(part) : 'none';
  if (hash !== net.sha256) {
    rmSync(part, { force: true });
    throw new Error(`${net.member} in ${net.archive.url} has the SHA-256 ${hash}, not ${net.sha256}.`);
  }
  renameSync(part, path);
  return path;
}

/** Writes one file of a ZIP archive, whatever folder it is in there. */
async function unzip(archive: string, member: string, to: string): Promise<void> {
  const chunks: Uint8Array[] = [];
  const reader = new Unzip((file) => {
    if (basename(file.name) !== member) return;
    file.ondata = (error, chunk) => {
      if (error) throw error;
      chunks.push(chunk);
    };
    file.start();
  });
  reader.register(UnzipInflate);
  async function* contents() {
    for await (const bytes of createReadStream(archive)) {
      reader.push(bytes as Buffer);
      yield* chunks.splice(0);
    }
  }
  await pipeline(contents(), createWriteStream(to));
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
