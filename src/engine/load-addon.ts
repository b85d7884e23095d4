import { createRequire } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import { surveySettings } from '../config/config.ts';
import { repair } from '../config/installation.mjs';
import { addonFile, productPath } from '../config/paths.ts';
import type { Addon } from './addon.ts';
import type { Manifest } from './manifest.ts';

/**
 * Loads the addon. The main thread must call it first. Only the main thread selects the execution providers,
 * because the settings may have changed when a worker is replaced. Throws an Error that says how to fix the problem.
 */
export function loadAddon(): Addon {
  // Disables telemetry of ONNX Runtime in all threads.
  if (isMainThread) process.env.ORT_DISABLE_TELEMETRY ??= '1';
  const file = addonFile() ?? productPath('build/addon/Release/facematch.node');
  let addon: Addon;
  try {
    addon = createRequire(import.meta.url)(file) as Addon;
  } catch (error) {
    throw new Error(
      // Only the first line, because Node appends the list of requiring files.
      `The native addon did not load from ${file}: ${(error as Error).message.split('\n')[0]}\nTo repair it: ${repair('addon')}`,
      { cause: error },
    );
  }
  if (isMainThread) {
    const { execution_providers, onnxruntime_library } = surveySettings().config;
    addon.useOnnxRuntime(execution_providers, onnxruntime_library);
  }
  return addon;
}

/**
 * Returns the addon with this pack loaded, once for the process. Throws an Error whose message is meant for the user.
 */
export function loadPack(directory: string, manifest: Manifest): Addon {
  const addon = loadAddon();
  addon.loadPack(directory, manifest);
  return addon;
}
