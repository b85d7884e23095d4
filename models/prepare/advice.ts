/** What a person can do about an error's code, the file system's, the network's or npm's. */
const advice: Record<string, string> = {
  ENOSPC: 'The disk is full: free some 200 MB and try again.',
  EACCES: 'Permission is denied: run this as the user who owns the project folder.',
  EPERM: 'Permission is denied: run this as the user who owns the project folder.',
  EROFS: 'The file system is read-only: prepare the pack where the project is writable, then copy it.',
  ENOENT: 'Something that should exist does not; is npm installed and on the PATH?',
  EINTEGRITY:
    'The tarball is not the one that is pinned: try "npm cache verify", and ask who runs your npm mirror.',
  E401: 'The npm registry asks for a login: see "npm login" and "npm config get registry".',
  E403: 'The npm registry refuses the package: see "npm config get registry", and ask who runs it.',
  E404: 'The npm registry does not have the package: see "npm config get registry"; a mirror must carry it.',
  ETARGET:
    'The npm registry does not have this version: see "npm config get registry"; a mirror must carry it.',
  ENOTCACHED:
    'npm is set to work offline and does not have the package cached: unset "offline" in its settings.',
};

const offline =
  'The npm registry could not be reached: check the network, "npm config get registry" and "npm config get proxy".';
for (const code of [
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'ETIMEDOUT',
  'ERR_SOCKET_TIMEOUT',
]) {
  advice[code] = offline;
}

/** One message for people: what failed, with its code, and what to do about it. */
export function failure(doing: string, code: string, cause: unknown): Error {
  const what = advice[code] ?? (cause instanceof Error ? cause.message : String(cause));
  return new Error(`Preparing the model pack failed while ${doing} (${code}). ${what}`, { cause });
}

/** Awaits `work`; an error of it becomes one message for people. */
export async function withAdvice<T>(doing: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw failure(doing, (error as NodeJS.ErrnoException).code ?? 'unknown error', error);
  }
}
