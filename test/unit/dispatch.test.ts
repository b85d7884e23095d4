import { expect, test, vi } from 'vitest';
import { endpointIds } from '../../src/config/config.ts';
import { endpoints, type Listed } from '../../src/endpoints/index.ts';
import type { Services } from '../../src/http/context.ts';
import { Dispatcher } from '../../src/http/dispatch.ts';
import { Exchange } from '../../src/http/exchange.ts';
import type { Request } from '../../src/http/request.ts';
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

const request = ({ method, path }: Listed) =>
  ({ method, path, headers: new Map([['x-api-key', 'any']]), framing: 'none' }) as unknown as Request;

test.each([
  ['at once', 'openapi', { documents: () => ({ reply: () => ({ status: 200, headers: [], body: '' }) }) }],
  [
    'later',
    'models',
    {
      gate: {
        keys: { verify: () => ({ id: 'a', scopes: [], burst: 1 }) },
        hasRoom: () => true,
        callers: { take: async () => ({ admitted: false, rate: {} }) },
      },
    },
  ],
])(
  'an answer %s that cannot be written ends its connection, and is logged and counted',
  async (_when, wanted, own) => {
    const records: RequestRecord[] = [];
    const services = {
      config: { endpoints: endpointIds, cors_origins: [], log_client: 'off' },
      readiness: { stage: 'ready' },
      telemetry: { finished: (record: RequestRecord) => records.push(record) },
      ...own,
    } as unknown as Services;
    const dispatcher = new Dispatcher(services);
    const endpoint = endpoints.find(({ id }) => id === wanted)!;
    const exchange = new Broken(request(endpoint), {
      upload_timeout_ms: 1000,
      idle_ms: 1000,
      drain_bytes: 1000,
    });
    dispatcher.handle(exchange);
    await vi.waitFor(() => expect(records).toHaveLength(1));
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
