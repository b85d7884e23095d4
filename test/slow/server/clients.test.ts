import { once } from 'node:events';
import { createReadStream, readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { execute } from '../../server/support/cli.ts';
import { paths } from '../../server/support/client.ts';
import { hasCurl } from '../../server/support/client-programs.ts';
import { TestServer } from '../../server/support/server.ts';
import { newFolder } from '../../support/folder.ts';

/**
 * Ordinary clients get the answer, and not a reset, also when it comes before they have sent their body: with a wrong
 * key, and with a body beyond the limit, in one piece and in chunks.
 */

const sizes = { 'a megabyte and a half': 1_500_000, 'beyond the limit': 25_000_000 } as const;

const folder = newFolder();
for (const [name, bytes] of Object.entries(sizes))
  writeFileSync(join(folder, name), Buffer.alloc(bytes, 120));
const server = await TestServer.forFile({ env: { FACEMATCH_AUTH_FAILURE_BURST: '50000' } });
const url = server.url(paths.match);

interface Upload {
  size: keyof typeof sizes;
  key: string;
  chunked: boolean;
}

/** Status of the answer. Rejects when none arrives. */
type Client = (upload: Upload) => Promise<number>;

const contentType = 'application/octet-stream';

function curl(...extra: string[]): Client {
  return async ({ size, key, chunked }) => {
    const args = ['-sS', '-o', '/dev/null', '-w', '%{http_code}', ...extra];
    args.push('-H', `x-api-key: ${key}`, '-H', `content-type: ${contentType}`);
    if (chunked) args.push('-H', 'transfer-encoding: chunked');
    args.push('--data-binary', `@${join(folder, size)}`, url);
    const { code, stdout, stderr } = await execute('curl', args, folder, { PATH: process.env.PATH });
    if (code !== 0) throw new Error(stderr);
    return Number(stdout);
  };
}

const undici: Client = async ({ size, key, chunked }) => {
  const file = join(folder, size);
  const { statusCode, body } = await request(url, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': contentType },
    body: chunked ? createReadStream(file) : readFileSync(file),
  });
  await body.dump();
  return statusCode;
};

/** The answer may come while it writes; writing on may then fail, which is no error as long as the answer is there. */
const nodeHttp: Client = async ({ size, key, chunked }) => {
  const framing = chunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': sizes[size] };
  const headers = { 'x-api-key': key, 'content-type': contentType, ...framing };
  const outgoing = httpRequest(url, { method: 'POST', headers });
  outgoing.end(readFileSync(join(folder, size)));
  const [response] = await once(outgoing, 'response');
  return response.resume().statusCode;
};

const clients: [name: string, client: Client, there: boolean][] = [
  ['curl', curl('-H', 'expect:'), hasCurl],
  ['curl that expects 100-continue', curl('-H', 'expect: 100-continue'), hasCurl],
  // Node's fetch as well.
  ['undici', undici, true],
  ["Node's http", nodeHttp, true],
  // As Python's urllib says with every request.
  ['curl that closes', curl('-H', 'expect:', '-H', 'connection: close'), hasCurl],
];

const uploads = (Object.keys(sizes) as (keyof typeof sizes)[]).flatMap((size) =>
  [false, true].map((chunked) => ({ size, chunked })),
);

describe.each(clients.filter(([, , there]) => there))('%s', (_name, client) => {
  test.each(uploads)('hears 401, and 413 or 415, for $size; in chunks: $chunked', async (upload) => {
    expect(await client({ ...upload, key: 'wrong' })).toBe(401);
    const tooLarge = upload.size === 'beyond the limit' && !upload.chunked;
    expect(await client({ ...upload, key: server.key })).toBe(tooLarge ? 413 : 415);
  });
});
