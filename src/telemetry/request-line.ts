import type { RequestRecord } from './telemetry.ts';

/**
 * The log line of a request that was answered or refused, as pino would write it (test/unit/request-line.test.ts holds
 * the two together). pino takes several times as long, which is dear where a refusal is all that a request costs. All
 * texts are words of tables or ids, which have no character that JSON would escape, and all numbers are finite.
 *
 * @param time a member as pino's `timestamp` gives it: a comma, its name, its value
 */
export function requestLine(record: RequestRecord, time: string): string {
  const { request_id, key_id, route, status, code, bytes, timings_ms } = record;
  const key = key_id === undefined ? '' : `,"key_id":"${key_id}"`;
  const why = code === undefined ? '' : `,"code":"${code}"`;
  return (
    `{"level":30${time},"request_id":"${request_id}"${key},"route":"${route}","status":${status}${why}` +
    `,"bytes":${bytes},"duration_ms":${tenths(record.duration_ms)},"timings_ms":{${membersOf(timings_ms)}}` +
    ',"msg":"request"}\n'
  );
}

/** Rounded to tenths: the log tells what a request took, and the metrics tell more. */
export function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

function membersOf(numbers: Readonly<Record<string, number>>): string {
  let members = '';
  for (const name in numbers) members += `${members === '' ? '' : ','}"${name}":${numbers[name]}`;
  return members;
}
