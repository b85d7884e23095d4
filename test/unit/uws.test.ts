import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { loadUws } from '../../src/http/uws.ts';
import { projectPath } from '../../src/paths.ts';

describe('loadUws', () => {
  test('finds a native module and tells its version', () => {
    const uws = loadUws();
    expect(uws.version).toMatch(/^20\.\d+\.\d+/);
    expect(uws.App).toBeTypeOf('function');
    expect(uws.LIBUS_LISTEN_EXCLUSIVE_PORT).toBe(1);
  });

  test('refuses the server in JavaScript that the older package falls back to', () => {
    // The package's own switch for its fallback; in a process of its own, because modules are loaded once.
    const script = `
      const { loadUws } = await import(${JSON.stringify(projectPath('dist/src/http/uws.js'))});
      try { console.log('loaded ' + loadUws().version); } catch (error) { console.log(error.message); }`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, UWS_USE_FALLBACK: 'true' },
    });
    // Where the newer package's binary loads, it is taken and there is nothing to refuse.
    expect(stdout).toMatch(/loaded 20\.57|fell back to JavaScript, which is refused/);
    expect(stdout).not.toContain('loaded 20.30');
  });
});
