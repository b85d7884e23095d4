import { readFileSync } from 'node:fs';
import { projectPath } from '../../paths.ts';
import { type Finding, ok, warning, wrong } from './finding.ts';

export async function node(): Promise<Finding[]> {
  const { engines } = JSON.parse(readFileSync(projectPath('package.json'), 'utf8')) as {
    engines: { node: string };
  };
  const { node: version } = process.versions;
  if (satisfies(version, engines.node)) return [ok('Node', version)];
  return [wrong('Node', `${version} is not ${engines.node}`, 'Install Node 20 LTS, 20.17 or later')];
}

/** Alternatives of `>=1.2.3` and `^1.2.3`: the forms of package.json. Throws an Error for any other. */
export function satisfies(version: string, range: string): boolean {
  const [major, minor, patch] = numbersOf(version);
  return range.split('||').some((alternative) => {
    const [, operator, least] = /^(\^|>=)(\d+\.\d+\.\d+)$/.exec(alternative.trim()) ?? [];
    if (least === undefined) throw new Error(`The range ${range} is not understood`);
    const [leastMajor, leastMinor, leastPatch] = numbersOf(least);
    if (major !== leastMajor) return operator === '>=' && major > leastMajor;
    return minor > leastMinor || (minor === leastMinor && patch >= leastPatch);
  });
}

function numbersOf(version: string): [major: number, minor: number, patch: number] {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/, 3).map(Number);
  return [major, minor, patch];
}

/** The C library decides which binaries load. */
export async function system(): Promise<Finding[]> {
  const { platform, arch } = process;
  const machine = `${platform} ${arch}`;
  if (platform !== 'linux') {
    return [
      warning('system', `${machine}, where nothing is tested`, 'Use Linux with glibc, such as Debian 12'),
    ];
  }
  const glibc = glibcVersion();
  if (glibc !== undefined) return [ok('system', `${machine}, glibc ${glibc}`)];
  return [
    wrong('system', `${machine} without glibc (Alpine?)`, 'Use a system with glibc, such as Debian 12'),
  ];
}

function glibcVersion(): string | undefined {
  // The report would otherwise look names of open connections up.
  (process.report as { excludeNetwork?: boolean }).excludeNetwork = true;
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return header?.glibcVersionRuntime;
}
