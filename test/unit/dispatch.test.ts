import { expect, test } from 'vitest';
import { endpointIds } from '../../src/config.ts';
import type { Handlers, Services } from '../../src/http/context.ts';
import { Dispatcher } from '../../src/http/dispatch.ts';
import { Exchange } from '../../src/http/exchange.ts';
import type { Request } from '../../src/http/request.ts';
import { routes } from '../../src/http/routes.ts';
import type { RequestRecord } from '../../src/telemetry/record.ts';

/** A transport that cannot write, which no request over a socket brings about. */
class Broken extends Exchange {
  override readonly open = true;
  dropped = 0;
  protected override answer(): void {
    throw new Error('cannot be written');
  }
  protected override drop(): void {
    this.dropped += 1;
  }
}

const openapi = routes.find(({ endpoint }) => endpoint === 'openapi')!;
const request = {
  method: 'GET',
  path: openapi.path,
  headers: new Map(),
  framing: 'none',
} as unknown as Request;

test.each([
  ['at once', () => ({ status: 200, headers: [], body: '' })],
  ['later', async () => ({ status: 200, headers: [], body: '' })],
])(
  'an answer %s that cannot be written ends its connection, and is logged and counted',
  async (_when, answer) => {
    const records: RequestRecord[] = [];
    const services = {
      config: { endpoints: endpointIds, cors_origins: [] },
      readiness: { stage: 'ready' },
      telemetry: { finished: (record: RequestRecord) => records.push(record) },
    } as unknown as Services;
    const dispatcher = new Dispatcher(services, routes, { openapi: answer } as unknown as Handlers);
    const exchange = new Broken(request, { upload_timeout_ms: 1000, idle_ms: 1000, drain_bytes: 1000 });
    dispatcher.handle(exchange);
    await dispatcher.idle();
    expect(exchange.dropped).toBe(1);
    expect(records).toEqual([
      expect.objectContaining({
        status: 500,
        code: 'internal_error',
        fault: expect.stringContaining('cannot be written'),
      }),
    ]);
  },
);
