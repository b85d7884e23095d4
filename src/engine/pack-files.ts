import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UnusableFile } from '../config/file.ts';
import { repair } from '../config/installation.mjs';
import { codeOf, type Manifest, packNets, type Role, sourceOf } from './manifest.ts';

/** Lists the files of a pack, and compares them with its manifest. */

/** Optional members of a manifest whose files `facematch calibrate` computes. */
const calibratedRoles = ['cohort', 'human', 'occlusion'] as const;
type CalibratedRole = (typeof calibratedRoles)[number];

export interface PackFile {
  role: Role | CalibratedRole | 'liveness';
  file: string;
  /** Name of the pack that contains the file. */
  pack: string;
  licence: string;
  sha256: string;
  /** SHA-256 of the file as published; equal to `sha256` if that file is loaded. */
  source_sha256: string;
}

/** Returns the files of the pack: models in the order of `roles`, files of `facematch calibrate`, liveness models. */
export function packFiles(manifest: Manifest): PackFile[] {
  const pack = manifest.name;
  const nets = [...packNets(manifest)].map(([role, { file, from, licence, sha256, source_sha256 }]) => {
    return { role, file, pack: typeof from === 'string' ? pack : from.pack, licence, sha256, source_sha256 };
  });
  const others = [
    ...calibratedRoles.map((role) => ({ role, one: manifest[role] })),
    ...(manifest.liveness?.nets ?? []).map((one) => ({ role: 'liveness' as const, one })),
  ].flatMap(({ role, one }) => {
    if (one === undefined) return [];
    const { file, licence, sha256 } = one;
    return [{ role, file, pack, licence, sha256, source_sha256: sha256 }];
  });
  return [...nets, ...others];
}

/** Compares the SHA-256 of every file of the pack with the manifest. Rejects with an Error that says how to fix it. */
export async function verifyPack(directory: string, manifest: Manifest): Promise<void> {
  await Promise.all(packFiles(manifest).map((one) => verifyFile(directory, manifest, one)));
}

/** Verifies one of the files. Rejects with an UnusableFile. */
export async function verifyFile(
  directory: string,
  manifest: Manifest,
  { role, file, sha256 }: Pick<PackFile, 'role' | 'file' | 'sha256'>,
): Promise<void> {
  const isCalibrated = (calibratedRoles as readonly string[]).includes(role);
  const fix =
    role === 'liveness'
      ? 'from its source, or add the pack again'
      : isCalibrated
        ? `with: ${madeBySetup.includes(manifest.name) ? repair('pack files') : 'npx facematch calibrate'}`
        : `with: ${prepareCommand(directory, manifest)}`;
  await verifiedFile(join(directory, file), sha256, fix);
}

const madeBySetup = ['default', 'int8'];

export function prepareCommand(directory: string, manifest: Manifest): string {
  if (madeBySetup.includes(manifest.name)) return repair('nets');
  const provided = [...packNets(manifest)].filter(([, net]) => sourceOf(manifest, net)?.kind === 'project');
  const files = provided.map(([role]) => `--file ${role}=PATH`);
  return ['node dist/models/prepare/index.js', directory, ...files].join(' ');
}

/** Returns the bytes of a file with the expected SHA-256. Rejects with an UnusableFile whose message ends in `fix`. */
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
