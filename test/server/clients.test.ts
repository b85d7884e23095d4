import { writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { execute } from './support/cli.ts';
import { paths } from './support/client.ts';
import { hasCurl, hasPython } from './support/client-programs.ts';
import { Home, TestServer } from './support/server.ts';

/**
 * Ordinary clients get the answer, and not a reset, also when it comes before they have sent their body: with a wrong
 * key, and with a body beyond the limit, in one piece and in chunks.
 */

const sizes = { small: 30_000, 'a megabyte and a half': 1_500_000, 'beyond the limit': 25_000_000 } as const;

const files: Record<string, string> = {};
const home = new Home();
for (const [name, bytes] of Object.entries(sizes)) {
  files[name] = join(home.folder, name);
  writeFileSync(files[name], Buffer.alloc(bytes, 120));
}
const server = await TestServer.forFile({ env: { FACEMATCH_AUTH_FAILURE_BURST: '50000' } }, home);

async function run(program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await execute(program, args, projectPath('.'), { PATH: process.env.PATH });
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

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
    const args = ['-sS', '-o', '/dev/null', '-w', '%{http_code}'];
    args.push('-H', `x-api-key: ${key}`, '-H', `content-type: ${contentType}`);
    if (chunked) args.push('-H', 'transfer-encoding: chunked');
    return Number(
      await run('curl', [...args, ...extra, '--data-binary', `@${files[size]}`, server.url(paths.match)]),
    );
  };
}

const python = `
import http.client, sys, urllib.parse, urllib.request, urllib.error
way, url, key, file, chunked = sys.argv[1:6]
headers = {'x-api-key': key, 'content-type': '${contentType}'}
def pieces():
    with open(file, 'rb') as body:
        while piece := body.read(65536): yield piece
body = pieces() if chunked == 'true' else open(file, 'rb').read()
if way == 'http.client':
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port)
    connection.request('POST', parts.path, body=body, headers=headers, encode_chunked=chunked == 'true')
    print(connection.getresponse().status)
else:
    # Says "Connection: close" with every request.
    try: print(urllib.request.urlopen(urllib.request.Request(url, data=body, headers=headers)).status)
    except urllib.error.HTTPError as error: print(error.code)
`;

function pythonClient(way: string): Client {
  return async ({ size, key, chunked }) =>
    Number(
      await run('python3', ['-c', python, way, server.url(paths.match), key, files[size]!, String(chunked)]),
    );
}

function bytesOf({ size, chunked }: Upload) {
  const bytes = Buffer.alloc(sizes[size], 120);
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
  }
  return chunked ? Readable.from(pieces()) : bytes;
}

const undici: Client = async (upload) => {
  const { statusCode, body } = await request(server.url(paths.match), {
    method: 'POST',
    headers: { 'x-api-key': upload.key, 'content-type': contentType },
    body: bytesOf(upload),
  });
  await body.dump();
  return statusCode;
};

/** The answer may come while it writes; writing on may then fail, which is no error as long as the answer is there. */
const nodeHttp: Client = (upload) =>
  new Promise((resolve, reject) => {
    const headers: Record<string, string | number> = { 'x-api-key': upload.key, 'content-type': contentType };
    if (upload.chunked) headers['transfer-encoding'] = 'chunked';
    else headers['content-length'] = sizes[upload.size];
    const outgoing = httpRequest(server.url(paths.match), { method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    outgoing.on('error', reject);
    outgoing.end(Buffer.alloc(sizes[upload.size], 120));
  });

const clients: [name: string, client: Client, there: boolean][] = [
  ['curl', curl('-H', 'expect:'), hasCurl],
  ['curl that expects 100-continue', curl('-H', 'expect: 100-continue'), hasCurl],
  // Node's fetch as well.
  ['undici', undici, true],
  ["Node's http", nodeHttp, true],
  ["Python's http.client", pythonClient('http.client'), hasPython],
  ["Python's urllib", pythonClient('urllib'), hasPython],
];

for (const [name, client, there] of clients) {
  describe.skipIf(!there)(name, () => {
    for (const size of Object.keys(sizes) as (keyof typeof sizes)[]) {
      for (const chunked of [false, true]) {
        const what = `a body that is ${size}, ${chunked ? 'in chunks' : 'in one piece'}`;
        test(`hears 401 for ${what}`, async () => {
          expect(await client({ size, key: 'wrong', chunked })).toBe(401);
        });
        test(`hears 413 or 415 for ${what}`, async () => {
          const tooLarge = sizes[size] > 20 * 1024 * 1024 && !chunked;
          expect(await client({ size, key: server.key, chunked })).toBe(tooLarge ? 413 : 415);
        });
      }
    }
  });
}

test.runIf(hasCurl)('curl -F gets its match, with and without Expect: 100-continue', async () => {
  const demo = 'node_modules/@vladmandic/face-api/demo';
  const form = ['-F', `image1=@${demo}/sample1.jpg`, '-F', `image2=@${demo}/sample3.jpg`];
  for (const expectation of ['expect:', 'expect: 100-continue']) {
    const headers = ['-H', expectation, '-H', `x-api-key: ${server.key}`];
    const stdout = await run('curl', ['-sS', ...headers, ...form, server.url(paths.match)]);
    expect(JSON.parse(stdout)).toMatchObject({ match: true });
  }
});
