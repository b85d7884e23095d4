import type { MatchAnswer } from './demo-answer.ts';
import type { DemoServer } from './demo-server.ts';
import type { Picture } from './picture.ts';

const answerLimit_ms = 60_000;

/** Sends the pair as any client would, and times it. Throws an Error with a message for people. */
export async function sendPair(
  { origin, key }: Pick<DemoServer, 'origin' | 'key'>,
  pictures: { image1: Picture; image2: Picture },
  signal: AbortSignal,
): Promise<{ body: MatchAnswer; elapsed_ms: number }> {
  const form = new FormData();
  for (const [field, { name, bytes }] of Object.entries(pictures)) form.set(field, new Blob([bytes]), name);
  const started_ms = performance.now();
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${origin}/API/v1.0/face/match/upload`, {
      method: 'POST',
      headers: { 'x-api-key': key },
      body: form,
      signal: AbortSignal.any([signal, AbortSignal.timeout(answerLimit_ms)]),
    });
    text = await response.text();
  } catch (error) {
    signal.throwIfAborted();
    throw new Error(`The server gave no answer: ${causeOf(error)}`);
  }
  const elapsed_ms = performance.now() - started_ms;
  if (response.ok) return { body: JSON.parse(text) as MatchAnswer, elapsed_ms };
  throw new Error(`The server answered ${response.status}: ${problemText(text)}`);
}

/** fetch says "fetch failed" and keeps what happened in its cause. */
function causeOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message : message;
}

/** A problem+json body in one line, anything else as it is. */
function problemText(text: string): string {
  try {
    const { title, detail, code, errors } = JSON.parse(text) as {
      title: string;
      detail: string;
      code: string;
      errors?: { field: string }[];
    };
    const fields = errors === undefined ? '' : ` (${errors.map(({ field }) => field).join(', ')})`;
    return `${title}${fields}. ${detail} [${code}]`;
  } catch {
    return text.slice(0, 500);
  }
}
