import { surveySettings } from '../../config.ts';
import {
  ModelFileError,
  madeHere,
  type PackManifest,
  packDirectory,
  readManifest,
  roles,
  verifyMadeHere,
  verifyNet,
} from '../../engine/pack.ts';
import { type Finding, firstLine, ok, unknown, wrong } from './finding.ts';
import { probe } from './probing.ts';

const restore = 'git checkout models/packs, or correct FACEMATCH_PACK';

/** The manifest, a line for each file, and whether the nets load. */
export async function modelPack(): Promise<Finding[]> {
  const directory = packDirectory(surveySettings().config.pack);
  let manifest: PackManifest;
  try {
    manifest = readManifest(directory);
  } catch (error) {
    const [first = '', ...members] = (error as Error).message.split('\n').map((line) => line.trim());
    return [wrong('model pack', [first, members.join('; ')].filter(Boolean).join(' '), restore)];
  }
  const { name, version } = manifest;
  const files = await Promise.all([
    ...roles.map((role) => verified(role, manifest[role].file, verifyNet(directory, manifest, role))),
    ...madeHere.flatMap((role) => {
      const { [role]: made } = manifest;
      return made ? [verified(role, made.file, verifyMadeHere(directory, manifest, role))] : [];
    }),
  ]);
  const sound = files.every(({ status }) => status === 'ok');
  const nets = sound
    ? await loading(directory)
    : unknown('nets', 'a file of the pack is not as it should be');
  return [ok('model pack', `${name} ${version} in ${directory}`), ...files, nets];
}

async function verified(what: string, file: string, verifying: Promise<void>): Promise<Finding> {
  try {
    await verifying;
    return ok(what, `${file} has the SHA-256 of the manifest`);
  } catch (error) {
    if (error instanceof ModelFileError) return wrong(what, `${file} ${error.reason}`, error.remedy);
    throw error;
  }
}

async function loading(directory: string): Promise<Finding> {
  try {
    await probe('pack', directory);
    return ok('nets', 'load');
  } catch (error) {
    // Whose fault is it? An addon that ends its process never gets as far as the nets.
    const loads = await probe('addon').then(
      () => true,
      () => false,
    );
    if (!loads) return unknown('nets', 'the native addon did not load');
    return wrong('nets', firstLine(error), 'Get the nets anew: npm run setup');
  }
}
