import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { transformSync } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { POST } from '../../../docs/examples/next/app/verify/route.js';
import { projectPath } from '../../../src/config/paths.ts';
import { samples } from '../../fixtures/images.ts';
import { execute } from '../../server/support/cli.ts';
import { TestServer } from '../../server/support/server.ts';
import { newFolder } from '../../support/folder.ts';

const { freePorts, launch } = await import(projectPath('test/support/programs.mjs'));

/**
 * Runs programs of docs/examples against a real server. documented-requests.test.ts, identification.test.ts, and
 * check-in.test.ts and live-check-in.test.ts of test/slow/browser run others.
 */

const server = await TestServer.forFile();
const folder = newFolder();
/** The same person is in `one.jpg` and `three.jpg`. */
for (const [name, bytes] of Object.entries(samples)) writeFileSync(join(folder, `${name}.jpg`), bytes);
writeFileSync(join(folder, 'none.jpg'), 'no image');
const env = {
  PATH: process.env.PATH,
  HOME: folder,
  FACEMATCH_URL: server.origin,
  FACEMATCH_KEY: server.key,
};
const example = (path: string) => projectPath(`docs/examples/${path}`);
const photo = (bytes: Uint8Array) => new Blob([Buffer.from(bytes)], { type: 'image/jpeg' });

const isThere = (command: string) => spawnSync(command, ['--version']).error === undefined;

function formOf(files: Record<string, Uint8Array>): FormData {
  const form = new FormData();
  for (const [name, bytes] of Object.entries(files)) form.append(name, photo(bytes), 'photo.jpg');
  return form;
}

describe('the Express example', () => {
  let url: string;
  beforeAll(async () => {
    mkdirSync(join(folder, 'photos'));
    copyFileSync(join(folder, 'one.jpg'), join(folder, 'photos/anna.jpg'));
    const options = { env: { ...env, PORT: '0' }, cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] };
    const { child } = launch(process.execPath, [example('express/server.mjs'), 'photos'], options);
    [url] = await once(createInterface(child.stdout), 'line');
    return () => child.kill();
  });
  const verify = async (id: string, body: FormData) => {
    const response = await fetch(`${url}/users/${id}/verify`, { method: 'POST', body });
    return [response.status, await response.json()];
  };

  test('verifies the person of the photo on file', async () => {
    const [status, body] = await verify('anna', formOf({ selfie: samples.one }));
    expect([status, body]).toEqual([200, { verified: true, advice: expect.any(Array) }]);
  });

  test('does not verify another person', async () => {
    expect(await verify('anna', formOf({ selfie: samples.two }))).toMatchObject([200, { verified: false }]);
  });

  test.each([
    ['an unknown user', 'ben', { selfie: samples.one }, 404],
    ['a path instead of a user', '..%2Fanna', { selfie: samples.one }, 404],
    ['a form without the file', 'anna', { other: samples.one }, 400],
    ['a file that is not an image', 'anna', { selfie: Buffer.from('no image') }, 422],
    ['a body above its limit', 'anna', { selfie: new Uint8Array(11 * 1024 ** 2) }, 413],
  ])('rejects %s', async (_, id, files, status) => {
    expect(await verify(id, formOf(files))).toEqual([status, { error: expect.any(String) }]);
  });
});

describe('the Next.js example', () => {
  vi.stubEnv('FACEMATCH_URL', server.origin);
  vi.stubEnv('FACEMATCH_KEY', server.key);
  afterAll(() => void vi.unstubAllEnvs());
  /** The route handler gets the same argument as from Next.js: a Request of the web platform. */
  const send = async (body: FormData, headers: Record<string, string>) => {
    const request = new Request('http://localhost/verify', { method: 'POST', body, headers });
    const response = await POST(request);
    return [response.status, await response.json()];
  };
  const verify = async (files: Record<string, Uint8Array>) => {
    const body = formOf(files);
    const { size } = await new Response(body).blob();
    return await send(body, { 'content-length': String(size) });
  };

  test.each([
    [
      'verifies two photos of one person',
      { document: samples.one, selfie: samples.one },
      200,
      { verified: true },
    ],
    [
      'does not verify photos of two people',
      { document: samples.one, selfie: samples.two },
      200,
      { verified: false },
    ],
    ['rejects a missing file', { document: samples.one }, 400, { error: expect.any(String) }],
    [
      'rejects a file that is not an image',
      { document: samples.one, selfie: Buffer.from('no image') },
      422,
      { error: expect.any(String) },
    ],
  ])('%s', async (_, files, status, body) => {
    expect(await verify(files as Record<string, Uint8Array>)).toEqual([status, body]);
  });

  test.each([
    ['without a length', {}],
    ['above its limit', { 'content-length': String(30 * 1024 ** 2) }],
  ])('rejects a body %s', async (_, headers: Record<string, string>) => {
    const body = formOf({ document: samples.one, selfie: samples.one });
    expect(await send(body, headers)).toEqual([413, { error: expect.any(String) }]);
  });

  test('has a page that compiles', () => {
    const source = readFileSync(example('next/app/page.jsx'), 'utf8');
    expect(transformSync(source, { loader: 'jsx' }).warnings).toEqual([]);
  });
});

test('writes a line for each pair (Python), and reports pairs that could not be compared', async () => {
  writeFileSync(
    join(folder, 'pairs.csv'),
    'image1,image2\none.jpg,three.jpg\none.jpg,two.jpg\none.jpg,none.jpg\none.jpg,missing.jpg\n',
  );
  const python = { ...env, PYTHONPATH: projectPath('docs/clients') };
  const { code, stdout } = await execute(
    'python3',
    [example('python/compare_pairs.py'), 'pairs.csv'],
    folder,
    python,
  );
  expect(stdout.trim().split(/\r?\n/)).toEqual([
    'image1,image2,match,confidence_percent,warnings,error',
    expect.stringMatching(/^one.jpg,three.jpg,True,[\d.]+,.*,$/),
    expect.stringMatching(/^one.jpg,two.jpg,False,[\d.]+,.*,$/),
    'one.jpg,none.jpg,,,,unsupported_image_format',
    'one.jpg,missing.jpg,,,,No such file or directory',
  ]);
  expect(code).toBe(1);
});

describe.skipIf(!isThere('go'))('the Go example', () => {
  const verify = (...files: string[]) =>
    execute('go', ['run', example('go/verify.go'), ...files], folder, {
      ...env,
      GOCACHE: join(folder, 'go-cache'),
    });

  test('matches the same person, and no one else', async () => {
    expect((await verify('one.jpg', 'three.jpg')).stdout).toMatch(/^Match \([\d.]+ % ≥ 70 %\)\n$/);
    const other = await verify('one.jpg', 'two.jpg');
    expect(other.stdout).toMatch(/^No match \([\d.]+ % is below the threshold of 70 %\)\n$/);
    expect((await verify('one.jpg', 'none.jpg')).stderr).toMatch(/^unsupported_image_format: /);
  });
});

describe.skipIf(!isThere('php'))('the PHP example', () => {
  test('shows a form, and the result of two photos', async () => {
    const [port] = await freePorts(1);
    const settings = ['-d', 'upload_max_filesize=10M', '-d', 'post_max_size=21M'];
    const { child } = launch('php', [...settings, '-S', `127.0.0.1:${port}`, example('php/index.php')], {
      env,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    try {
      for await (const line of createInterface(child.stderr)) if (/started/.test(line)) break;
      const url = `http://127.0.0.1:${port}/`;
      const shown = async (body?: FormData) => {
        const html = await (await fetch(url, body ? { method: 'POST', body } : {})).text();
        return /<p role="status">(.*?)<\/p>/s.exec(html)![1];
      };
      expect(await shown()).toBe('');
      expect(await shown(formOf({ image1: samples.one, image2: samples.three }))).toBe('The photos match.');
      expect(await shown(formOf({ image1: samples.one, image2: samples.two }))).toBe(
        'The photos do not match.',
      );
      expect(await shown(formOf({ image1: samples.one }))).toBe('Choose two photos.');
      const broken = formOf({ image1: samples.one, image2: Buffer.from('no image') });
      expect(await shown(broken)).toMatch(/JPEG, PNG or WebP/);
    } finally {
      child.kill();
    }
  });
});
