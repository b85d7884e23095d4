import { expect, onTestFinished, test, vi } from 'vitest';
import { type UnreadAnswer, UnreadAnswers } from '../../src/http/unread.ts';

class Answer implements UnreadAnswer {
  readonly held_bytes = 0;
  taken = 0;
  given_up = false;

  push(): number {
    return this.taken;
  }

  giveUp(): void {
    this.given_up = true;
  }
}

test('an answer is given up when nothing of it was taken for 30 s, and no earlier', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const unread = new UnreadAnswers();
  const [read, neglected] = [new Answer(), new Answer()];
  for (const answer of [read, neglected]) unread.add(answer, 0);
  vi.advanceTimersByTime(28_000);
  read.taken = 1;
  expect(neglected.given_up).toBe(false);
  vi.advanceTimersByTime(4000);
  expect([read.given_up, neglected.given_up]).toEqual([false, true]);
  vi.advanceTimersByTime(30_000);
  expect(read.given_up).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});
