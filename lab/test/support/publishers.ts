import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { vi } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { sha256 } from '../../../src/engine/pack-files.ts';
import type { Download } from '../../download.ts';
import type { PublishedPack } from '../../packs/catalogue.ts';

/** Responds to a request. `file`: the bytes of the requested file. */
export type Responder = (file: Buffer, ...request: Parameters<RequestListener>) => void;

export const whole: Responder = (file, _, response) => response.end(file);
export const ranged: Responder = (file, { headers }, response) => {
  const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? 'bytes=0-')![1]);
  response.writeHead(headers.range === undefined ? 200 : 206).end(file.subarray(from));
};
export const inBits: Responder = async (file, _, response) => {
  const step = Math.ceil(file.length / 20);
  for (let at = 0; at < file.length; at += step)
    await new Promise<void>((resolve) => response.write(file.subarray(at, at + step), () => resolve()));
  response.end();
};
/** Sends the first half of a file, and closes the connection once that half is stored in the folder. */
export const cutOff =
  (cache: string): Responder =>
  async (file, _, response) => {
    const half = file.subarray(0, file.length / 2);
    response.writeHead(200, { 'content-length': file.length }).write(half);
    const kept = () =>
      readdirSync(cache, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.part'))
        .some((name) => statSync(join(cache, name)).size === half.length);
    await vi.waitUntil(kept, { timeout: 120_000 });
    response.destroy();
  };

/** Starts an HTTP server with publishers' files by path. */
export async function publish(files: Record<string, Buffer>) {
  /** The requested paths with their ranges, since the last `respondWith`. */
  const asked: string[] = [];
  let responder = whole;
  const server = createServer((request, response) => {
    asked.push([request.url!, request.headers.range ?? []].flat().join(' '));
    responder(files[request.url!]!, request, response);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    asked,
    port,
    respondWith: (other: Responder) => {
      responder = other;
      asked.length = 0;
    },
    downloadOf(path: string): Download {
      const bytes = files[path]!;
      return { url: `http://127.0.0.1:${port}${path}`, bytes: bytes.length, sha256: sha256(bytes) };
    },
    close: () => server.close(),
  };
}

/**
 * Returns an environment in which `near` is a published pack, and `archive` is the archive of the set lfw.
 */
export function knowing(near: PublishedPack, archive: Download, folder: string): NodeJS.ProcessEnv {
  const lab = (file: string) => JSON.stringify(pathToFileURL(projectPath(`dist/lab/${file}`)));
  const preload = join(folder, 'publishers.mjs');
  const lines = [
    `import { catalogue } from ${lab('packs/catalogue.js')};`,
    `import { lfw } from ${lab('published-sets.js')};`,
    `catalogue.near = ${JSON.stringify(near)};`,
    `lfw.archive = ${JSON.stringify(archive)};`,
  ];
  writeFileSync(preload, lines.join('\n'));
  return { NODE_OPTIONS: `--import ${pathToFileURL(preload)}`, XDG_CACHE_HOME: join(folder, 'cache') };
}
