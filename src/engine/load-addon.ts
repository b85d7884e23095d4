import { createRequire } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import { surveySettings } from '../config/config.ts';
import { repair } from '../config/installation.mjs';
import { addonFile, productPath } from '../config/paths.ts';
import type { Addon } from './addon.ts';
import type { Manifest } from './manifest.ts';

/**
 * Loads the addon. The main thread must do it first, and also chooses the providers, because the settings may
 * change before a worker is replaced. Throws an Error that says how to fix it.
 */
export function loadAddon(): Addon {
  // Disables telemetry. It is set before workers start; in a worker the process already has it.
  if (isMainThread) process.env.ORT_DISABLE_TELEMETRY ??= '1';
  const file = addonFile() ?? productPath('build/addon/Release/facematch.node');
  let addon: Addon;
  try {
    addon = createRequire(import.meta.url)(file) as Addon;
  } catch (error) {
    throw new Error(
      // Node appends the list of requiring files below the first line.
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
