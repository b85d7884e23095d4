import { writeFileSync } from 'node:fs';
import { projectPath } from '../../../src/config/paths.ts';
import { endpoints } from '../../../src/endpoints/index.ts';
import { errorCodes } from '../../../src/errors.ts';
import { examples as before } from '../../../src/site/examples.ts';
import type { Json } from './client.ts';

/** If FACEMATCH_RECORD is set, as by `npm run docs`, records responses as the documents' examples. */
export function recordExamples(responses: ReadonlyMap<string, Json>): void {
  if (process.env.FACEMATCH_RECORD === undefined) return;
  const named = endpoints.flatMap((one) => ('success' in one ? [one.success.name] : []));
  const lines = [...new Set([...named, ...errorCodes])].map((name) => {
    const body = responses.has(name) ? settled(responses.get(name), before[name]) : before[name];
    return `  ${name}: ${JSON.stringify(body ?? {})},`;
  });
  const text = [
    '// Responses recorded by npm run docs: a line for each component of the OpenAPI document.',
    'export const examples: Readonly<Record<string, object>> = {',
    ...lines,
    '};',
  ];
  writeFileSync(projectPath('src/site/examples.ts'), `${text.join('\n')}\n`);
}

/** Maximum number of items in a recorded list, and of characters in an embedding. */
const maxItems = 3;
const embedding_letters = 16;

/**
 * Keeps the recorded values where they differ on each run, such as random steps or the last digits of numbers.
 */
function settled(now: Json, then: Json, name = ''): Json {
  if (then !== undefined && ['request_id', 'timings_ms', 'challenge', 'expires_at', 'steps'].includes(name))
    return then;
  if (name === 'embedding' && typeof now === 'string') return now.slice(0, embedding_letters);
  if (typeof now === 'number') return Math.abs(now - then) <= 0.02 * Math.abs(then) ? then : now;
  if (Array.isArray(now)) return now.slice(0, maxItems).map((item, at) => settled(item, then?.[at]));
  if (typeof now !== 'object' || now === null) return now;
  return Object.fromEntries(
    Object.entries(now).map(([name, value]) => [name, settled(value, then?.[name], name)]),
  );
}
