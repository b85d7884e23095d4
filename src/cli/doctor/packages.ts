import { readFileSync } from 'node:fs';
import { projectPath } from '../../paths.ts';
import { type Finding, ok, warning, wrong } from './finding.ts';

/** The packages that a server needs: there, and in the versions of package.json. */
export async function packages(): Promise<Finding[]> {
  const wanted = Object.entries(dependencies());
  const versions = wanted.map(([name, spec]) => ({
    name,
    wanted: versionOf(spec),
    found: installedVersion(name),
  }));
  const absent = versions.filter(({ found }) => found === undefined).map(({ name }) => name);
  if (absent.length > 0) return [wrong('npm packages', `missing: ${absent.join(', ')}`, 'npm ci')];
  const others = versions.filter(({ wanted, found }) => wanted !== found);
  if (others.length > 0) {
    const list = others.map(({ name, wanted, found }) => `${name} ${found} instead of ${wanted}`);
    return [warning('npm packages', list.join(', '), 'npm ci')];
  }
  return [ok('npm packages', `all ${versions.length} that a server needs, as package.json wants them`)];
}

/** Name → version, or `npm:NAME@VERSION` for an alias. */
function dependencies(): Record<string, string> {
  const file = JSON.parse(readFileSync(projectPath('package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  return file.dependencies;
}

function versionOf(spec: string): string {
  return spec.slice(spec.lastIndexOf('@') + 1);
}

/** Undefined when the package is not there. */
export function installedVersion(name: string): string | undefined {
  try {
    const file = projectPath(`node_modules/${name}/package.json`);
    return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  } catch {
    return undefined;
  }
}
