import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { newFolder } from '../support/folder.ts';

const { privateConfiguration } = await import(projectPath('scripts/lib/debian.mjs'));
const hasApt = spawnSync('apt-config', ['dump']).status === 0;

/** As apt-file brings it. */
const contents = `Acquire::IndexTargets::deb::Contents-deb {
  MetaKey "$(COMPONENT)/Contents-$(ARCHITECTURE)";
  Description "$(RELEASE)/$(COMPONENT) $(ARCHITECTURE) Contents (deb)";
};
`;
const proxies = [
  'Acquire::http::Proxy "http://proxy.example:3128";',
  'Acquire::http::Proxy::mirror.example "DIRECT";',
  'Acquire::https::Proxy-Auto-Detect "/usr/bin/find-proxy";',
];

test.skipIf(!hasApt)(
  "the private run of apt fetches packages' indexes alone, through the system's proxies",
  () => {
    const folder = newFolder();
    const system = join(folder, 'system.conf');
    writeFileSync(system, `${contents}${proxies.join('\n')}\nAcquire::Retries "7";\n`);
    const before = process.env.APT_CONFIG;
    process.env.APT_CONFIG = system;
    onTestFinished(() => {
      if (before === undefined) delete process.env.APT_CONFIG;
      else process.env.APT_CONFIG = before;
    });
    const env = { ...process.env, APT_CONFIG: privateConfiguration(folder) };
    const dump = execFileSync('apt-config', ['dump'], { env, encoding: 'utf8' }).split('\n');
    expect(dump).toEqual(expect.arrayContaining(proxies));
    expect(dump.filter((line) => /Contents|DEP-11|Retries "7"/.test(line))).toEqual([]);

    writeFileSync(join(folder, 'sources.list'), 'deb http://mirror.example/debian stable main\n');
    const format = ['indextargets', '--no-release-info', '--format', '$(CREATED_BY)'];
    const targets = execFileSync('apt-get', format, { env, encoding: 'utf8' });
    expect([...new Set(targets.trim().split('\n'))]).toEqual(['Packages']);
  },
);
