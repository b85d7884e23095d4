import { addonFile } from '../../config.ts';
import { type Finding, firstLine, ok, unknown, wrong } from './finding.ts';
import { installedVersion } from './packages.ts';
import { probe } from './probing.ts';

/** The two aliases under which package.json has it. */
const uwsPackages = ['uWebSockets.js-v20.57', 'uWebSockets.js'];

export async function uws(): Promise<Finding[]> {
  try {
    const version = await probe('uws');
    const name = uwsPackages.find((candidate) => installedVersion(candidate) === version);
    return [ok('µWebSockets.js', `${version}, its native binary${name ? ` (package ${name})` : ''}`)];
  } catch (error) {
    const [, ...reasons] = (error as Error).message.split('\n');
    // Node's list of requiring files follows a module that is not there.
    const told = reasons.map((reason) => reason.replace(/ Require stack:.*/, '')).join('; ');
    const value = told === '' ? firstLine(error) : `no native binary loads here: ${told}`;
    return [wrong('µWebSockets.js', value, 'Use Node 20 on Linux with glibc, and run: npm ci')];
  }
}

/** What the dynamic linker complains about → what mends it. */
const cures: readonly (readonly [complaint: RegExp, cure: string])[] = [
  [/libonnxruntime/, 'npm ci'],
  // Built on another system or for another processor, or cut short: set-up would take it for its own.
  [/GLIBC|ELF|too short|undefined symbol|was ended by SIG/, 'rm -r build/addon && npm run setup'],
];

/** For an addon that was built here. */
export function addonCure(complaint: string): string {
  return cures.find(([pattern]) => pattern.test(complaint))?.[1] ?? 'npm run setup';
}

/** The addon and the libraries that it brings into the process, which tell their versions only through it. */
export async function addon(): Promise<Finding[]> {
  const file = addonFile();
  try {
    const { onnxruntime, opencv, ...decoders } = await probe('addon');
    const codecs = Object.entries(decoders).map(([name, version]) => `${name} ${version}`);
    return [
      ok('native addon', `loads${file === undefined ? '' : ` from ${file} (FACEMATCH_ADDON)`}`),
      ok('ONNX Runtime', onnxruntime),
      ok('OpenCV', `${opencv}; ${codecs.join(', ')}`),
    ];
  } catch (error) {
    const complaint = firstLine(error);
    const cure = file === undefined ? addonCure(complaint) : 'Correct or unset FACEMATCH_ADDON';
    const untold = 'the native addon tells it, and did not load';
    return [
      wrong('native addon', complaint, cure),
      unknown('ONNX Runtime', untold),
      unknown('OpenCV', untold),
    ];
  }
}
