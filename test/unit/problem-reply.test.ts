import { describe, expect, test } from 'vitest';
import { errorTable, Problem } from '../../src/errors.ts';
import { problem } from '../../src/http/responses.ts';

const bodyOf = (refusal: Problem, request_id: string) =>
  JSON.parse(problem(refusal, request_id).body.toString()) as Record<string, unknown>;

describe('the body of a problem', () => {
  test('has the standard members in their order, then those of the case', () => {
    const body = bodyOf(new Problem('image_too_large', { field: 'image2', limit_bytes: 5 }), 'r1');
    const { title, detail } = errorTable.image_too_large;
    expect(Object.entries(body)).toEqual([
      ['type', '/API/v1.0/docs#error-image_too_large'],
      ['title', title],
      ['status', 413],
      ['detail', detail],
      ['code', 'image_too_large'],
      ['request_id', 'r1'],
      ['field', 'image2'],
      ['limit_bytes', 5],
    ]);
  });

  test('a detail of the case wins over that of the table, and keeps its place', () => {
    const body = bodyOf(new Problem('rate_limit_exceeded', { detail: 'Say "please", \\ and\nwait' }), 'r1');
    expect(body.detail).toBe('Say "please", \\ and\nwait');
    expect(Object.keys(body)).toEqual(['type', 'title', 'status', 'detail', 'code', 'request_id']);
  });
});
