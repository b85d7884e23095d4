import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { projectPath } from '../../src/config/paths.ts';
import { demoPage } from '../../src/demo/page.ts';
import { openApiDocument } from '../../src/site/document.ts';
import { docsPage } from '../../src/site/page.ts';
import { paths } from './support/client.ts';
import { TestServer } from './support/server.ts';

/**
 * Tests the documents as the server returns them, and as they are in docs/ and in the package. contract.test.ts
 * compares responses with them.
 */

const openapi = '/API/v1.0/openapi.json';
const docs = '/API/v1.0/docs';
const demo = '/API/v1.0/demo';

// docs/openapi.json states the default deadline.
const FACEMATCH_DEADLINE_MS = String(readConfig({}).deadline_ms);
const server = await TestServer.forFile({ env: { FACEMATCH_DEADLINE_MS } });

const get = (path: string, init: RequestInit = {}) => fetch(server.url(path), init);

describe.each([
  [openapi, 'application/json'],
  [docs, 'text/html; charset=utf-8'],
  [demo, 'text/html; charset=utf-8'],
])('GET %s', (path, type) => {
  test('needs no key, and may be cached', async () => {
    const response = await get(path);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': type,
      'cache-control': 'public, max-age=300',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(/^\w{26}$/),
      vary: 'Accept-Encoding',
      'content-encoding': 'gzip',
    });
    expect(response.headers.get('ratelimit')).toBeNull();
    const plain = await get(path, { headers: { 'accept-encoding': 'identity' } });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(await plain.text()).toBe(await response.text());
  });

  test('is not sent again to a client that has the current version', async () => {
    const etag = (await get(path)).headers.get('etag')!;
    const same = await get(path, { headers: { 'if-none-match': etag } });
    expect([same.status, same.headers.get('etag'), await same.text()]).toEqual([304, etag, '']);
    expect(same.headers.get('content-length')).toBeNull();
    expect(same.headers.get('cache-control')).toBe('public, max-age=300');
    const other = await get(path, { headers: { 'if-none-match': '"old"' } });
    expect([other.status, other.headers.get('etag')]).toEqual([200, etag]);
  });
});

describe.each([
  [docs, 2, "'self' ", "style-src 'unsafe-inline'", ''],
  [demo, 1, '', "style-src 'sha256-", "require-trusted-types-for 'script'"],
])('the page %s', async (path, count, parts, style, trusted) => {
  const response = await get(path);
  const html = await response.text();
  const policy = response.headers.get('content-security-policy')!;

  test('allows only its own scripts and requests to its own server', () => {
    const scripts = [...html.matchAll(/<script(?: type="module")?>(.*?)<\/script>/gs)];
    const hashOf = (text: string) => createHash('sha256').update(text).digest('base64');
    const hashes = scripts.map(([, text]) => `'sha256-${hashOf(text!)}'`);
    expect(hashes).toHaveLength(count);
    const directives = policy.split('; ');
    expect(directives).toEqual(
      expect.arrayContaining([
        ...["default-src 'none'", `script-src ${parts}${hashes.join(' ')}`, 'img-src blob: data:'],
        ...["connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
      ]),
    );
    expect(policy).toContain(style);
    expect(policy).toContain(trusted);
    expect(policy).not.toMatch(/unsafe-eval|https?:|\*/);
  });
});

test.each([
  ['/reference.js', 'text/javascript; charset=utf-8'],
  ['/../page.js', 'text/html; charset=utf-8'],
  ['/none.js', 'text/html; charset=utf-8'],
])('responds to ?part=%s of the API page with %s', async (part, type) => {
  const { status, headers } = await get(`${docs}?part=${part}`);
  expect([status, headers.get('content-type')]).toEqual([200, type]);
});

test("embeds any document in the API's page without escaping from its element", () => {
  const document = openApiDocument(readConfig({}));
  const info = { ...document.info, description: '</script><!-- <script>' };
  const { html } = docsPage({ ...document, info });
  const [, settings] = / id="settings">(.*?)<\/script>/.exec(html)!;
  expect(html.match(/<script/g)).toHaveLength(3);
  expect(JSON.parse(settings!).content).toEqual({ ...document, info });
});

describe('the demo page', async () => {
  const html = await (await get(demo)).text();
  const settingsOf = (page: string) => JSON.parse(/ id="settings">(.*?)<\/script>/.exec(page)![1]!);

  test('has no foreign URL, no event handler and no style in its markup', () => {
    const markup = html.replace(/<style>.*?<\/style>|<script.*?<\/script>/gs, '');
    expect(markup).not.toMatch(/https?:|\son\w+=|\sstyle=|javascript:|\{n\}/i);
    expect(html).not.toMatch(/@import|url\(/);
  });

  test('lists only the enabled endpoints, and the limits of its server', () => {
    expect(Object.keys(settingsOf(html).paths).sort()).toEqual(readConfig({}).endpoints.toSorted());
    const own = readConfig({ FACEMATCH_ENDPOINTS: 'match,demo', FACEMATCH_MAX_BODY_BYTES: '4096' });
    const settings = settingsOf(demoPage(own).html);
    expect(settings.paths).toEqual({ match: paths.match, demo });
    const bytes = { max_body_bytes: 4096, max_image_bytes: 10_485_760 };
    expect(settings.limits).toEqual({ ...bytes, max_pixels: 64_000_000, photos: 4, targets: 16 });
  });

  test('offers the options of a match, without face indices and options that need liveness models', () => {
    const { threshold_percent, options } = settingsOf(html);
    expect(threshold_percent.default).toBe(70);
    expect(options).toMatchObject({ use_heuristic_fallback: { default: true }, min_det_score: { max: 1 } });
    expect(Object.keys(options).filter((name) => /index|live|attack|threshold|mode/.test(name))).toEqual([]);
  });
});

process.chdir(projectPath('.'));
const { generatedDocs } = await import(projectPath('scripts/generate-docs.mjs'));
const generated: Record<string, string> = await generatedDocs();

test.each(Object.keys(generated))('matches the generated %s; if not, run: npm run docs', (path) => {
  // The formatter may change line breaks in JSON.
  const content = (text: string) => (path.endsWith('.json') ? JSON.parse(text) : text);
  expect(content(readFileSync(path, 'utf8'))).toEqual(content(generated[path]!));
});
test('responds at the root with the URLs of the pages', async () => {
  const detail = expect.stringContaining(`Documentation and demo: ${docs}, ${demo}. All paths`);
  expect(await (await get('/')).json()).toMatchObject({ status: 404, detail });
});

test("lists the server's own limits and only enabled endpoints in both documents", async () => {
  const env = { FACEMATCH_ENDPOINTS: 'match,openapi,docs', FACEMATCH_MAX_BODY_BYTES: '3145728' };
  const own = await TestServer.forTest({ env, until: 'listening' });
  for (const path of [openapi, docs]) {
    const text = await (await fetch(own.url(path))).text();
    expect(text).toContain('Body size: 3 MiB');
    expect(text).toContain(paths.match);
    for (const off of [paths.advanced, paths.models, demo]) expect(text).not.toContain(off);
  }
});

test('serves the document of docs/openapi.json with default settings', async () => {
  const inDocs = JSON.parse(readFileSync(projectPath('docs/openapi.json'), 'utf8'));
  expect(await (await get(openapi)).json()).toEqual(inDocs);
});

/** Tests what the package of `npm run package` depends on and links to. */

const folder = projectPath('build/package/facematch');

function made(...options: string[]) {
  execFileSync(process.execPath, [projectPath('scripts/package.mjs'), '--only', 'program-files', ...options]);
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

test("lists the project's other packages as dependencies only with --registry", () => {
  const asked = (manifest: Record<string, object>) =>
    ['dependencies', 'optionalDependencies'].flatMap((kind) =>
      Object.keys(manifest[kind] ?? {}).filter((name) => name.includes('facematch')),
    );
  expect(asked(made('--registry'))).toEqual(['@facematch/linux-x64', '@facematch/linux-arm64']);
  const manifest = made();
  expect(asked(manifest)).toEqual([]);
  const { repository, homepage, bugs } = JSON.parse(readFileSync(projectPath('package.json'), 'utf8'));
  expect(manifest).toMatchObject({ repository, homepage, bugs });
  expect(repository.url).toBe(`git+${homepage}.git`);
});

test('links from packaged pages only to packaged files or to URLs', () => {
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.md'),
  );
  expect(pages.length).toBeGreaterThan(20);
  const links = pages.flatMap((page) =>
    [...readFileSync(join(folder, page), 'utf8').matchAll(/\]\((?!\w+:|#)([^)#]+)/g)].map(([, to]) =>
      join(dirname(page), to!),
    ),
  );
  expect(links).toContain('deploy/facematch.service');
  expect(links.filter((path) => !existsSync(join(folder, path)))).toEqual([]);
});
