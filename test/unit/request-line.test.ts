import { pino } from 'pino';
import { expect, test } from 'vitest';
import { requestLine, tenths } from '../../src/telemetry/request-line.ts';
import type { RequestRecord } from '../../src/telemetry/telemetry.ts';

/** The line that is made without pino, beside what pino makes of the same record. */

const time = ',"time":"2026-11-22T12:00:00.000Z"';

function linesOf(record: RequestRecord): { ours: string; pinos: string } {
  let pinos = '';
  const log = pino({ base: null, timestamp: () => time }, { write: (line) => (pinos += line) });
  log.info({ ...record, duration_ms: tenths(record.duration_ms), findings: undefined }, 'request');
  return { ours: requestLine(record, time), pinos };
}

const refusal: RequestRecord = {
  request_id: '01KAMZ1F5X0123456789ABCDEF',
  key_id: undefined,
  route: 'none',
  status: 401,
  code: 'invalid_api_key',
  bytes: 0,
  duration_ms: 0.0421,
  timings_ms: {},
  fault: undefined,
  findings: undefined,
};
const answer: RequestRecord = {
  request_id: 'client-chosen_id.1',
  key_id: 'aB3dE6gH9jK2',
  route: 'match_advanced',
  status: 200,
  code: undefined,
  bytes: 23_456,
  duration_ms: 12.3456,
  timings_ms: { queue: 0.2, decode: 1.25, detect: 3, total: 11.9 },
  fault: undefined,
  findings: {
    verdict: { accuracy_mode: 'fast', match: true, confidence_percent: 99 },
    images: [{ faces: 1, found_by: 'primary' }],
  },
};

test.each([
  ['a refusal', refusal],
  ['an answer', answer],
  ['an answer that took no time', { ...answer, duration_ms: 0, timings_ms: { queue: 0 } }],
])('the line of %s is what pino would write', (_name, record) => {
  const { ours, pinos } = linesOf(record);
  expect(ours).toBe(pinos);
  expect(JSON.parse(ours)).toMatchObject({ request_id: record.request_id, status: record.status });
});

test('what a match saw is not in its line', () => {
  expect(requestLine(answer, time)).not.toMatch(/findings|confidence|found_by/);
});
