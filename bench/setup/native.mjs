// The bench's C++ programs (native/bench), by the CMake preset `bench`.
import { join } from 'node:path';
import { run } from '../../scripts/lib/run.mjs';
import { root } from '../lib/paths.mjs';

const built = (name) => join(root, `build/bench/native/bench/facematch_${name}`);

/** Exist after `buildNative`. */
export const programs = { chips: built('chips'), floor: built('floor'), stages: built('stages') };

/** Quick when nothing has changed. Rejects with the compiler's last words. */
export async function buildNative(onLine) {
  const options = { cwd: root, cure: 'The programs of native/bench did not build.', onLine };
  await run('cmake', ['--preset', 'bench', '--log-level=ERROR'], options);
  await run('cmake', ['--build', '--preset', 'bench', '--parallel', '2'], options);
}
