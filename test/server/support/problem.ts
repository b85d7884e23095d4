import { expect } from 'vitest';
import { type ErrorCode, errorTable } from '../../../src/errors.ts';
import type { Answer } from './client.ts';

/** What every problem has, and what this one has beside it. */
export function expectProblem(answer: Answer, code: ErrorCode, extras: object = {}): void {
  const { status, title } = errorTable[code];
  expect(answer.body).toMatchObject({ code, status, title, ...extras });
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('x-request-id')).toBe(answer.body.request_id);
  expect(answer.body.type).toBe(`/API/v1.0/docs#error-${code}`);
  expect(answer.body.detail.length).toBeGreaterThan(10);
  // Nothing internal: no folder of this machine, no stack, no source file.
  expect(JSON.stringify(answer.body)).not.toMatch(/node_modules|\/dist\/|\.(ts|js|cpp|onnx)\b|at Object\./);
}
