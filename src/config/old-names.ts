/** Settings that were renamed before the first release. If an old name is still set, startup fails. */
const newNames: Readonly<Record<string, string>> = {
  FACEMATCH_PICTURE_MS: 'FACEMATCH_IMAGE_TIMEOUT_MS',
  FACEMATCH_SHUTDOWN_MS: 'FACEMATCH_SHUTDOWN_TIMEOUT_MS',
  FACEMATCH_QUEUE: 'FACEMATCH_QUEUE_CAPACITY',
  FACEMATCH_EMBEDDING_CACHE: 'FACEMATCH_EMBEDDING_CACHE_SIZE',
  FACEMATCH_MIN_SIDE: 'FACEMATCH_MIN_IMAGE_SIDE',
  FACEMATCH_MAX_UPLOAD_BYTES: 'FACEMATCH_UPLOAD_MEMORY_BYTES',
  FACEMATCH_IDLE_TIMEOUT_S: 'FACEMATCH_UPLOAD_IDLE_TIMEOUT_S',
  FACEMATCH_PROVIDER: 'FACEMATCH_EXECUTION_PROVIDERS',
  FACEMATCH_ONNXRUNTIME: 'FACEMATCH_ONNXRUNTIME_LIBRARY',
};

/** Returns the end of the error message for a renamed setting; undefined for any other name. */
export function renamedSetting(variable: string): string | undefined {
  if (!Object.hasOwn(newNames, variable)) return undefined;
  return `was renamed to ${newNames[variable]}; use the new name`;
}

/** Returns one error for each renamed setting in the environment. */
export const renamedFaults = (env: NodeJS.ProcessEnv): string[] =>
  Object.keys(newNames)
    .filter((variable) => Boolean(env[variable]))
    .map((variable) => `${variable}: ${renamedSetting(variable)}`);
