import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { handleAdmin } from '../../src/http/admin.ts';
import type { Exchange, Reply } from '../../src/http/exchange.ts';

test('the admin listener logs an unexpected error, and returns 500 without its message', async () => {
  const registry = new Registry();
  registry.metrics = async () => {
    throw new Error('secret');
  };
  const lines: string[] = [];
  const replies: Reply[] = [];
  const exchange = {
    request: { method: 'GET', path: '/metrics', headers: new Map() },
    reply: (reply: Reply) => replies.push(reply),
  } as unknown as Exchange;
  const services = {
    config: { admin_host: '127.0.0.1', admin_hosts: [] },
    telemetry: { metrics: { registry } },
    logger: pino({ base: null }, { write: (line) => lines.push(line) }),
  } as unknown as Parameters<typeof handleAdmin>[1];
  await handleAdmin(exchange, services);
  expect(replies.map(({ status, body }) => [status, String(body).includes('secret')])).toEqual([
    [500, false],
  ]);
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({
      level: 50,
      path: '/metrics',
      error: 'Error: secret',
      msg: 'failed to handle an admin request',
    }),
  ]);
});
