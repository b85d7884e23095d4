import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { FacematchClient } from 'facematch/client';
import { describe, expect, test } from 'vitest';
import { endpointIds } from '../../../src/config/config.ts';
import { projectPath } from '../../../src/config/paths.ts';
import { execute, run } from '../../server/support/cli.ts';
import {
  type Fields,
  type Json,
  lasting,
  paths,
  type TestResponse,
  twoPhotos,
} from '../../server/support/client.ts';
import {
  askNode,
  askPython,
  example,
  folder,
  hasCurl,
  hasPython,
  images,
  oddName,
  programs,
  proxy,
  python,
  reset,
  respondOnce,
  shell,
  type Target,
} from '../../server/support/client-programs.ts';
import { Home, TestServer } from '../../server/support/server.ts';
import { newFolder } from '../../support/folder.ts';

/** Tests the project's clients as users run them: as a package, as a file in a program, and as a command. */

const home = new Home();
const keys = {
  basic: home.key({ scopes: ['match:basic'] }),
  /** Keys that get one token per second, and one token per ten minutes. */
  limited: home.key({ rate: 1, burst: 1 }),
  limitedMost: home.key({ rate: 1 / 600, burst: 1 }),
};
const env = { FACEMATCH_ENDPOINTS: endpointIds.join(','), FACEMATCH_QUEUE_CAPACITY: '1' };
const server = await TestServer.forFile({ env, gate: 'open' }, home);
const { gate } = server;
/** Returns the server as a target. The URL ends with slashes, which clients must ignore. */
const targetOf = (other: Partial<Target> = {}): Target => ({
  url: `${server.origin}//`,
  key: server.key,
  ...other,
});

/** URL of a port without a listener. */
const nowhere = 'http://127.0.0.1:2';

const { 'one.jpg': one, 'two.jpg': two } = images;

/** Returns how often the server responded to a match with each code while `act` ran. */
async function requestsDuring(act: () => Promise<unknown>): Promise<Record<string, number>> {
  const counts = async () => {
    const series = /^facematch_requests_total\{route="match",.*code="(\w+)".*\} (\d+)$/gm;
    return [...(await server.metrics()).matchAll(series)].map(([, code, count]) => [code!, count!] as const);
  };
  const before = Object.fromEntries(await counts());
  await act();
  const more = (await counts()).map(([code, count]) => [code, Number(count) - Number(before[code] ?? 0)]);
  return Object.fromEntries(more.filter(([, count]) => count !== 0));
}

const rejections = (code: string) => `facematch_rejections_total{reason="load",code="${code}"}`;

describe.for(programs.filter(({ runs }) => runs))('$name', ({ ask, tries, passing }) => {
  test('reports an invalid key, and sends one request', async () => {
    const counts = await requestsDuring(async () => {
      const failure = await ask('two.jpg', targetOf({ key: 'fm_wrong' }));
      expect(failure).toMatchObject({ status: 401, code: 'invalid_api_key' });
      const id = /\d{3} \w+: .*\(request_id (\w{26})\)/.exec(failure.error)![1]!;
      expect(await server.logged(id)).toMatchObject({ status: 401 });
    });
    expect(counts).toEqual({ invalid_api_key: 1 });
  });

  test('retries a 429 after Retry-After, and returns the result', async () => {
    // Uses the token once the client is running, so that it is not refilled while the client starts.
    const through = await proxy(server.port, async (_socket, count) => {
      if (count === 1) await server.match({}, { key: keys.limited });
      return false;
    });
    const counts = await requestsDuring(async () => {
      expect(await ask('two.jpg', targetOf({ url: through.url, key: keys.limited }))).toMatchObject({
        match: true,
      });
    });
    through.close();
    expect(counts).toEqual({ ok: 1, missing_field: 1, rate_limit_exceeded: 1 });
  });

  test('does not wait if Retry-After is more than a minute', async () => {
    // Uses the token if there is one.
    await server.match({}, { key: keys.limitedMost });
    const counts = await requestsDuring(async () => {
      const failure = await ask('two.jpg', targetOf({ key: keys.limitedMost }));
      expect(failure).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
      expect(failure.wait_s ?? 61).toBeGreaterThan(60);
    });
    expect(counts).toEqual({ rate_limit_exceeded: 1 });
  });

  test('retries after 503 when the queue was full', async () => {
    gate.close();
    const held = [server.match(twoPhotos())];
    await server.metricBecomes('facematch_workers_busy', 1);
    held.push(server.match(twoPhotos()));
    await server.metricBecomes('facematch_queue_depth', 1);
    const before = await server.metric(rejections('overloaded'));
    const response = ask('two.jpg', targetOf());
    await server.metricBecomes(rejections('overloaded'), before + 1);
    gate.open();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
    expect(await response).toMatchObject({ match: true });
  });

  test('retries after a connection reset, and fails if every attempt is reset', async () => {
    const through = await proxy(server.port, reset);
    const failure = await ask('two.jpg', targetOf({ url: through.url }));
    through.close();
    expect(failure).toMatchObject({ status: null });
    expect([undefined, 'network']).toContain(failure.code);
    expect(through.connections).toBe(tries);
  });

  /** Responses of a gateway. The server itself would send a JSON body. */
  test.each([
    [503, 'Service Unavailable\r\nretry-after: 0'],
    [504, 'Gateway Timeout\r\nretry-after: 0'],
    [408, 'Request Timeout\r\nretry-after: 0'],
    [502, 'Bad Gateway'],
    [307, 'Temporary Redirect\r\nlocation: http://127.0.0.1:1/'],
    [200, 'OK'],
  ])("retries a gateway's %i if it is temporary, and reports its status", async (status, rest) => {
    const requestHeaders = `HTTP/1.1 ${status} ${rest}\r\ncontent-length: 4\r\nconnection: close\r\n\r\n`;
    const gateway = await proxy(server.port, (socket) => respondOnce(socket, `${requestHeaders}Oops`));
    const failure = await ask('two.jpg', targetOf({ url: gateway.url }));
    gateway.close();
    expect(failure).toMatchObject({ status });
    if (failure.code) expect(failure).toMatchObject({ code: 'unexpected', error: `${status}: Oops` });
    expect(gateway.connections).toBe(passing.includes(status) ? tries : 1);
  });
});

/** A request to the server, and the call in both languages. */
interface Call {
  what: string;
  asked: () => Promise<TestResponse>;
  node: (client: FacematchClient) => Promise<unknown>;
  /** Undefined if only the client for Node has it. */
  python?: string;
  targetOf?: Partial<Target>;
  /** Returns the members that both responses must share; by default all except ids and times. */
  of?: (response: Json) => unknown;
}

const many = [new File([two], oddName), new File([images['none.txt']], 'none.txt'), two];
const sendMany = () =>
  server.match({ image1: one, image2: [two, images['none.txt'], two] }, { path: paths.many });
const chosen = { accuracy_mode: 'fast', image1_face_index: '0', auto_pair_best: 'false' };
const controls = { accuracy_mode: 'fast', image1_face_index: 0, auto_pair_best: false } as const;
const ofTwo = (path: string, fields: Fields = {}) =>
  server.match({ image1: one, image2: two, ...fields }, { path });
const embeddingsBody = await server.embeddingsRequest(one);
embeddingsBody.candidates[1].id = 'é';
writeFileSync(join(folder, 'question.json'), JSON.stringify(embeddingsBody));

const calls: Call[] = [
  {
    what: 'match',
    asked: () => ofTwo(paths.match),
    node: (client) => client.match(Uint8Array.from(one).buffer, new Blob([two])),
    python: 'client.match("one.jpg", open("two.jpg", "rb").read())',
  },
  {
    what: 'match with fields of the advanced endpoint',
    asked: () => ofTwo(paths.advanced, { ...chosen, threshold_percent: '0.0000001' }),
    node: (client) => client.match(one, two, { ...controls, threshold_percent: 1e-7 }),
    python:
      'client.match("one.jpg", "two.jpg", accuracy_mode="fast", image1_face_index=0, auto_pair_best=False, threshold_percent=1e-7, min_det_score=None)',
  },
  {
    what: 'match with only a threshold, with the scope match:basic',
    asked: () => ofTwo(paths.match, { threshold_percent: '99.9' }),
    node: (client) => client.match(one, two, { threshold_percent: 99.9 }),
    python: 'client.match("one.jpg", "two.jpg", threshold_percent=99.9)',
    targetOf: { key: keys.basic },
  },
  {
    what: 'match as JSON',
    asked: () => ofTwo(paths.advanced, chosen),
    node: (client) => client.match(one, new Blob([two]), { ...controls, min_det_score: undefined } as never),
    targetOf: { json: true },
  },
  {
    what: 'detect',
    asked: () => server.match({ image: one }, { path: paths.detect }),
    node: (client) => client.detect(one),
    python: 'client.detect("one.jpg")',
  },
  {
    what: 'embed',
    asked: () => server.match({ image: one }, { path: paths.embed }),
    node: (client) => client.embed(one, { face_index: -1 }),
    python: 'client.embed("one.jpg", face_index=-1)',
  },
  {
    what: 'matchEmbeddings',
    asked: () => server.postJson(paths.embeddings, embeddingsBody),
    node: (client) => client.matchEmbeddings(embeddingsBody),
    python: 'client.match_embeddings(json.load(open("question.json", encoding="utf-8")))',
  },
  {
    what: 'many, with unusual file names',
    asked: async () => {
      const { body, ...rest } = await sendMany();
      const names = [oddName, 'none.txt', 'image2'];
      const results = body.results.map((result: Json, at: number) => ({ ...result, filename: names[at] }));
      return { ...rest, body: { ...body, results } };
    },
    node: (client) => client.many(one, many),
    python: `client.many("one.jpg", [${JSON.stringify(oddName)}, "none.txt", open("two.jpg", "rb").read()])`,
  },
  {
    what: 'many as JSON',
    asked: sendMany,
    node: (client) => client.many(one, many),
    targetOf: { json: true },
    of: ({ results }) => results.map((result: Json) => result.match ?? result.problem.code),
  },
  {
    what: 'several photos of two people',
    asked: () => server.match({ image1: [one, two], image2: [two, one] }, { path: paths.person }),
    node: (client) => client.person([one, two], [two, one]),
    python: 'client.person(["one.jpg", "two.jpg"], ["two.jpg", "one.jpg"])',
    of: ({ match, similarity, photos_compared }) => ({ match, similarity, photos_compared }),
  },
  { what: 'models', asked: () => server.getModels(), node: (one) => one.models(), python: 'client.models()' },
];

const languages = ['Node', ...(hasPython ? ['Python'] : [])] as const;
const askIn = (
  language: string,
  { node, python }: Pick<Call, 'node' | 'python'>,
  other: Partial<Target> = {},
) => (language === 'Node' ? askNode(node, targetOf(other)) : askPython(python!, targetOf(other)));

describe.each(languages)('the client for %s', (language) => {
  const own = calls.filter(({ python }) => language === 'Node' || python !== undefined);
  test.each(own)(
    "returns the server's response: $what",
    async ({ asked, targetOf, of = lasting, ...call }) => {
      const { status, body } = await asked();
      expect(status).toBe(200);
      expect(of(await askIn(language, call, targetOf))).toEqual(of(body));
    },
  );

  test('throws without a key', async () => {
    const call = {
      node: async () => new FacematchClient({ url: server.origin, key: '' }),
      python: 'facematch.FacematchClient("http://localhost", "")',
    };
    await expect(askIn(language, call as never)).rejects.toThrow('no API key');
  });

  test("throws an error with the problem's members", async () => {
    const call = {
      node: (client: FacematchClient) => client.match(one, two, { min_det_score: 0.4 }),
      python: 'client.match("one.jpg", "two.jpg", min_det_score=0.4)',
    };
    expect(await askIn(language, call, { key: keys.basic })).toMatchObject({
      error: expect.stringMatching(/^403 forbidden_scope: .*\(request_id \w{26}\)$/),
      status: 403,
      problem: { code: 'forbidden_scope', required_scope: 'match:advanced' },
      wait_s: null,
    });
  });

  test('fails after its timeout, and does not retry', async () => {
    gate.close();
    const through = await proxy(server.port, () => false);
    const call = {
      node: (client: FacematchClient) => client.match(one, two),
      python: 'client.match("one.jpg", "two.jpg")',
    };
    const failure = await askIn(language, call, { url: through.url, timeout_s: 0.5 });
    gate.open();
    through.close();
    expect(failure).toMatchObject({ code: 'timeout', status: null, problem: null });
    expect(through.connections).toBe(1);
  });
});

describe('the client for Node', () => {
  test.each<[given: unknown, message: RegExp]>([
    ['one.jpg', /^image1 is text, .*readFile/],
    [Readable.from([]), /^image1 is a stream: .*node:stream\/consumers/],
    [new Blob([]).stream(), /^image1 is a stream/],
    [Promise.resolve(one), /^image1 is a promise/],
    [undefined, /^image1 is undefined/],
    [{ uri: 'one.jpg' }, /^image1 is an object/],
  ])('throws a TypeError for %o as an image, and sends no request', async (given, message) => {
    for (const json of [false, true]) {
      const counts = await requestsDuring(async () => {
        const client = new FacematchClient({ ...targetOf(), json });
        await expect(client.match(given as Buffer, two)).rejects.toThrow(message);
        await expect(client.many(one, [given as Buffer])).rejects.toThrow(TypeError);
      });
      expect(counts).toEqual({});
    }
  });

  test.each([{ url: 'nowhere' }, { url: 'file:///etc/hosts' }, { key: 'a\nb' }])(
    'throws for an invalid URL or key: %j',
    (options) => {
      expect(() => new FacematchClient({ ...targetOf(), ...options })).toThrow(TypeError);
    },
  );

  describe('a client with an aborted signal', () => {
    const reason = new Error('no longer wanted');
    const ask = (key: string) => {
      const leaving = new AbortController();
      const client = new FacematchClient({ ...targetOf({ key }), maxWait_ms: 1e6 });
      const left = expect(client.match(one, two, {}, { signal: leaving.signal })).rejects.toBe(reason);
      return { left, leave: () => leaving.abort(reason) };
    };

    test('aborts its request, which the server then cancels', async () => {
      gate.close();
      const { left, leave } = ask(server.key);
      await server.metricBecomes('facematch_workers_busy', 1);
      leave();
      await left;
      gate.open();
      await server.metricBecomes('facematch_workers_busy', 0);
    });

    test('stops waiting for the retry, and sends no further request', async () => {
      await server.match({}, { key: keys.limitedMost });
      const rejected = 'facematch_requests_total{route="match",status="429",code="rate_limit_exceeded"}';
      const before = await server.metric(rejected);
      const { left, leave } = ask(keys.limitedMost);
      await server.metricBecomes(rejected, before + 1);
      leave();
      await left;
      expect(await server.metric(rejected)).toBe(before + 1);
    });
  });

  test('runs as its README.md shows, from its package', async () => {
    const place = newFolder();
    for (const [photo, bytes] of Object.entries(images)) writeFileSync(join(place, photo), bytes);
    const { stdout } = await run(projectPath('scripts/package.mjs'), ['--only', 'client'], place);
    const tarball = projectPath(stdout.split(' ')[0]!);
    const { PATH, HOME } = process.env;
    await execute('npm', ['install', '--offline', '--no-audit', tarball], place, { PATH, HOME });
    const program = example('js').replace('./facematch.mjs', '@facematch/client');
    writeFileSync(join(place, 'program.mjs'), program);
    const ask = (FACEMATCH_KEY: string, FACEMATCH_URL = server.origin) =>
      run(join(place, 'program.mjs'), [], place, { FACEMATCH_URL, FACEMATCH_KEY });
    const all = [ask(server.key), ask('fm_wrong'), ask(server.key, nowhere)] as const;
    const [succeeded, rejected, down] = await Promise.all(all);
    expect(succeeded.stderr).toBe('');
    expect(succeeded.stdout).toMatch(/^true [\d.]+\n\[ true, false \]\n$/);
    expect(rejected.stderr).toMatch(/^401 invalid_api_key: The key is unknown.*\n$/);
    expect(down.stderr).toBe(`no response from ${nowhere}/API/v1.0: connect ECONNREFUSED 127.0.0.1:2\n`);
  });
});

describe.skipIf(!hasPython)('the client for Python', () => {
  test.each(['5', 'None', 'open("one.jpg", "rb")'])(
    'raises a TypeError for %s as an image',
    async (given) => {
      const call = `facematch.FacematchClient("http://x", "k").match(${given}, "two.jpg")`;
      const { stderr } = await python(['-c', `import facematch; ${call}`], targetOf());
      expect(stderr).toMatch(/TypeError: image1 is \w+: pass bytes, or the path of a file\n$/);
    },
  );

  test('runs as docs/clients/README.md shows', async () => {
    const { stdout, stderr } = await python(['-c', example('python')], targetOf());
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^True [\d.]+\ntwo\.jpg True\nthree\.jpg False\n$/);
    const down = await python(['-c', example('python')], targetOf({ url: nowhere }));
    expect(down.stdout).toMatch(/^no response from http:.*Connection refused\n$/);
  });

  test('runs in threads of asyncio, as docs/clients/README.md shows', async () => {
    const { stdout, stderr } = await python(['-c', example('python', 1)], targetOf());
    expect([stdout, stderr]).toEqual(['True\nFalse\n', '']);
  });
});

describe.skipIf(!hasCurl)('match.sh', () => {
  test.each([
    {
      args: 'one.jpg two.jpg',
      exit: 0,
      out: /^match: [\d.]+ %, beyond the measured range \(the threshold is 70 %\)\n/,
    },
    { args: 'one.jpg three.jpg', exit: 1, out: /^no match: [\d.]+ % \(the threshold is 70 %\)\n/ },
    { args: 'one.jpg two.jpg one.jpg', exit: 0, out: /^match: / },
    { args: 'one.jpg nobody.png', exit: 2, err: /^error: 422 no_face_found: .*image2.*\n$/ },
  ])('exits with $exit for $args', async ({ args, exit, out = /^$/, err = /^$/ }) => {
    const { code, stdout, stderr } = await shell(args.split(' '), targetOf());
    expect(code).toBe(exit);
    expect(stdout).toMatch(out);
    expect(stderr).toMatch(err);
  });

  test.each<[what: string, args: string, other: Partial<Target>, words: RegExp]>([
    ['one image', 'one.jpg', {}, /^error: usage: /],
    ['no key', 'one.jpg two.jpg', { key: '' }, /FACEMATCH_KEY/],
    ['a missing file', 'one.jpg nowhere.jpg', {}, /nowhere\.jpg/],
    ['an invalid URL', 'one.jpg two.jpg', { url: 'nowhere' }, /^error: ./],
  ])('sends no request with %s, and prints the reason', async (_what, args, other, words) => {
    const counts = await requestsDuring(async () => {
      const { code, stdout, stderr } = await shell(args.split(' '), targetOf(other));
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(words);
    });
    expect(counts).toEqual({});
  });
});
