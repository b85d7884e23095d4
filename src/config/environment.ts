/** What is read from the environment besides the settings: without the settings' table, for threads that need no more. */

/** FACEMATCH_ADDON: a native addon to load instead of the one that was built here. For tests and sanitizers, so not a setting. */
export function addonFile(env: NodeJS.ProcessEnv = process.env): string | undefined {
  return env.FACEMATCH_ADDON || undefined;
}

/** Turns off ONNX Runtime's telemetry. Call it before other threads start: they may read the environment. */
export function silenceOnnxRuntime(): void {
  process.env.ORT_DISABLE_TELEMETRY ??= '1';
}

/** FACEMATCH_UWS: the folder of a µWebSockets.js to try first. Not a setting: it names code to load, as FACEMATCH_ADDON does. */
export function uwsFolder(env: NodeJS.ProcessEnv = process.env): string | undefined {
  return env.FACEMATCH_UWS || undefined;
}

/** `npx facematch …`; npx does not pass every signal on, and may end alone. */
export function isStartedByNpx(env: NodeJS.ProcessEnv = process.env): boolean {
  return env.npm_command === 'exec';
}
