import { describe, expect, test } from 'vitest';
import { expectProblem, paths, type Send, send } from './support/client.ts';
import { Home, TestServer } from './support/server.ts';

/** Who asks, in which trace, and from where: what a request says of itself beside its body. */

const home = new Home();
const other = home.key();
const server = await TestServer.forFile({ env: { FACEMATCH_LOG_CLIENT: 'on' } }, home);

const ask = (headers: Record<string, string>, key: Send['key'] = null) =>
  send(server, { path: paths.models, method: 'GET', key, headers });
const logged = async (headers: Record<string, string>) => {
  const { body, headers: answered } = await ask(
    { ...headers, 'x-request-id': `id-${Math.random()}` },
    server.key,
  );
  expect(body.pack).toBeDefined();
  return { line: await server.logged(answered.get('x-request-id')!), answered };
};

describe('a key in Authorization: Bearer', () => {
  test.each(['Bearer', 'bearer', 'BEARER', 'Bearer  '])('is taken after %j', async (scheme) => {
    expect((await ask({ authorization: `${scheme} ${server.key}` })).status).toBe(200);
  });

  test('may be the same as in x-api-key, and may not differ', async () => {
    const authorization = `Bearer ${server.key}`;
    expect((await ask({ authorization }, server.key)).status).toBe(200);
    expectProblem(await ask({ authorization }, other), 'invalid_api_key');
    expectProblem(await ask({ authorization }, 'wrong'), 'invalid_api_key');
  });

  test.each(['Bearer eyJhbGciOiJIUzI1NiJ9.e30.c2ln', 'Bearer fm_x_y', 'bearer a b'])(
    'without the form of a key is ignored beside x-api-key: %s',
    async (authorization) => {
      expect((await ask({ authorization }, server.key)).status).toBe(200);
    },
  );

  test('of another scheme is not looked at', async () => {
    expectProblem(await ask({ authorization: 'Basic eDp5' }), 'missing_api_key');
    expect((await ask({ authorization: 'Basic eDp5' }, server.key)).status).toBe(200);
  });

  test.each(['Bearer wrong', 'Bearer a b'])('is refused as x-api-key is: %s', async (authorization) => {
    const answer = await ask({ authorization });
    expectProblem(answer, 'invalid_api_key');
    expect(answer.headers.get('www-authenticate')).toBe('ApiKey, Bearer');
  });
});

describe('a traceparent', () => {
  const trace_id = '4bf92f3577b34da6a3ce929d0e0e4736';
  const parent_id = '00f067aa0ba902b7';

  test.each([
    [`00-${trace_id}-${parent_id}-01`, `00-${trace_id}-${parent_id}-01`],
    // Of a later version only what is known.
    [`cc-${trace_id}-${parent_id}-00-more`, `00-${trace_id}-${parent_id}-00`],
  ])('%s is logged and given back', async (traceparent, back) => {
    const { line, answered } = await logged({ traceparent });
    expect([line.trace_id, answered.get('traceparent')]).toEqual([trace_id, back]);
  });

  test.each([
    `ff-${trace_id}-${parent_id}-01`,
    `00-${'0'.repeat(32)}-${parent_id}-01`,
    `00-${trace_id}-${'0'.repeat(16)}-01`,
    `00-${trace_id}-${parent_id}-01-more`,
    `00-${trace_id.toUpperCase()}-${parent_id}-01`,
    `00-${trace_id}-${parent_id}`,
    'x',
  ])('%s is ignored', async (traceparent) => {
    const { line, answered } = await logged({ traceparent });
    expect([line.trace_id, answered.get('traceparent')]).toEqual([undefined, null]);
  });
});

describe("the client's address", () => {
  test('is in the log where the operator asks for it, and in no other', async () => {
    expect((await logged({})).line.client).toBe('127.0.0.1');
    const silent = await TestServer.start();
    await send(silent, { path: paths.models, method: 'GET', headers: { 'x-request-id': 'here' } });
    expect(await silent.logged('here')).not.toHaveProperty('client');
    await silent.stop();
  });
});
