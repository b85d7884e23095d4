import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { projectPath } from '../../src/config/paths.ts';
import type { Manifest } from './deployed.ts';

/** A manifest against the schema and the type of its kind, out of npm's kubernetes-models. */

const require = createRequire(import.meta.url);
const packageOf = ({ apiVersion }: Manifest) =>
  apiVersion.startsWith('monitoring.coreos.com/')
    ? `@kubernetes-models/prometheus-operator/${apiVersion}`
    : `kubernetes-models/${apiVersion}`;

/** What its schema says against it; empty when it is in order. */
export function faultOf(manifest: Manifest): string {
  const Model = require(packageOf(manifest))[manifest.kind];
  try {
    new Model(manifest).validate();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

/** What the schemas let pass: a member that there is not. The packages' types do not. */
export function typeFaults(manifests: readonly Manifest[]): string {
  mkdirSync(projectPath('build'), { recursive: true });
  const folder = mkdtempSync(projectPath('build/manifests-'));
  const lines = manifests.map((manifest, at) => {
    const type = `import('${packageOf(manifest)}').I${manifest.kind}`;
    return `export const manifest${at}: ${type} = ${JSON.stringify(manifest)};`;
  });
  writeFileSync(join(folder, 'manifests.ts'), lines.join('\n'));
  const options = [
    '--noEmit',
    '--ignoreConfig',
    '--strict',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--types',
    '',
  ];
  const tsc = projectPath('node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, ...options, join(folder, 'manifests.ts')], {
    encoding: 'utf8',
  });
  rmSync(folder, { recursive: true });
  return stdout;
}
