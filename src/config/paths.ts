import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { root } from './installation.mjs';

/** Returns the absolute path of a file given relative to the project's root. */
export const projectPath = (relative: string): string => join(root, relative);

export function version(): string {
  return (JSON.parse(readFileSync(projectPath('package.json'), 'utf8')) as { version: string }).version;
}

/** Returns the path of a build product. In an installation from npm it is in the package of the platform. */
export function productPath(relative: string): string {
  const own = projectPath(relative);
  if (existsSync(own)) return own;
  const installed = join(platformFolder() ?? root, relative);
  return existsSync(installed) ? installed : own;
}

function platformFolder(): string | undefined {
  try {
    const name = `@facematch/${process.platform}-${process.arch}/package.json`;
    return dirname(createRequire(import.meta.url).resolve(name));
  } catch {
    return undefined;
  }
}

/** FACEMATCH_ADDON: path of another native addon to load, for tests and sanitizers. It is not a documented setting. */
export const addonFile = (): string | undefined => process.env.FACEMATCH_ADDON || undefined;

/** FACEMATCH_UWS: folder of another µWebSockets.js to try first. It is not a setting, because it loads code. */
export const uwsFolder = (): string | undefined => process.env.FACEMATCH_UWS || undefined;

/**
 * Two photos of three people each, from the development dependency face-api. The npm package of each platform
 * contains them. One woman is in both photos.
 */
export const samples = [sample('sample1.jpg'), sample('sample3.jpg')] as const;

function sample(name: string): string {
  const own = projectPath(`node_modules/@vladmandic/face-api/demo/${name}`);
  return existsSync(own) ? own : productPath(`samples/${name}`);
}
