import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UnusableFile } from '../config/file.ts';
import { repair } from '../config/installation.mjs';
import { codeOf, type Manifest, packNets, type Role, sourceOf } from './manifest.ts';

/** The files of a pack, and checks that they are those that its manifest describes. */

/** Optional members of a manifest whose files facematch made itself; they are in the repository. */
const madeHere = ['cohort', 'human', 'occlusion'] as const;
type MadeHere = (typeof madeHere)[number];

export interface PackFile {
  role: Role | MadeHere | 'liveness';
  file: string;
  /** Pack that the file belongs to. */
  pack: string;
  licence: string;
  sha256: string;
  /** SHA-256 of the file as published; it is the same if that file is loaded. */
  source_sha256: string;
}

/**
 * Returns every file of the pack: models in the order of `roles`, files made by facematch, models for
 * presentation attack detection.
 */
export function packFiles(manifest: Manifest): PackFile[] {
  const pack = manifest.name;
  const nets = [...packNets(manifest)].map(([role, { file, from, licence, sha256, source_sha256 }]) => {
    return { role, file, pack: typeof from === 'string' ? pack : from.pack, licence, sha256, source_sha256 };
  });
  const others = [
    ...madeHere.map((role) => ({ role, one: manifest[role] })),
    ...(manifest.liveness?.nets ?? []).map((one) => ({ role: 'liveness' as const, one })),
  ].flatMap(({ role, one }) => {
    if (one === undefined) return [];
    const { file, licence, sha256 } = one;
    return [{ role, file, pack, licence, sha256, source_sha256: sha256 }];
  });
  return [...nets, ...others];
}

/**
 * Compares the SHA-256 of every file of the pack with the manifest's. Rejects with an Error that says how to
 * fix it.
 */
export async function verifyPack(directory: string, manifest: Manifest): Promise<void> {
  await Promise.all(packFiles(manifest).map((one) => verifyFile(directory, manifest, one)));
}

/** Verifies one of the files. Rejects with an UnusableFile. */
export async function verifyFile(
  directory: string,
  manifest: Manifest,
  { role, file, sha256 }: Pick<PackFile, 'role' | 'file' | 'sha256'>,
): Promise<void> {
  const isMadeHere = (madeHere as readonly string[]).includes(role);
  const fix =
    role === 'liveness'
      ? 'from where it was brought from, or add the pack again'
      : isMadeHere
        ? `with: ${madeBySetup.includes(manifest.name) ? repair('pack files') : 'npx facematch calibrate'}`
        : `with: ${prepareCommand(directory, manifest)}`;
  await verifiedFile(join(directory, file), sha256, fix);
}

const madeBySetup = ['default', 'int8'];

export function prepareCommand(directory: string, manifest: Manifest): string {
  if (madeBySetup.includes(manifest.name)) return repair('nets');
  const brought = [...packNets(manifest)].filter(([, net]) => sourceOf(manifest, net)?.kind === 'project');
  const files = brought.map(([role]) => `--file ${role}=PATH`);
  return ['node dist/models/prepare/index.js', directory, ...files].join(' ');
}

/** Returns the bytes of a file, which must have this SHA-256. Throws an UnusableFile that ends in `fix`. */
export async function verifiedFile(file: string, expected: string, fix: string): Promise<Uint8Array> {
  const what = 'The model file';
  let bytes: Uint8Array;
  try {
    bytes = await readFile(file);
  } catch (error) {
    const problem = codeOf(error) === 'ENOENT' ? 'is missing' : `cannot be read (${codeOf(error)})`;
    throw new UnusableFile(what, file, problem, `Get it ${fix}`);
  }
  const actual = sha256(bytes);
  if (actual !== expected) {
    throw new UnusableFile(
      what,
      file,
      `does not match the manifest: ${bytes.length} bytes with SHA-256 ${actual} instead of ${expected}`,
      `It was replaced, changed or truncated; get it again ${fix}`,
    );
  }
  return bytes;
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
