#!/usr/bin/env node
// Who of those in the database is on this image?
//   FACEMATCH_KEY=… [DATABASE_URL=postgresql://…] node identify.mjs PICTURE [THRESHOLD_PERCENT]
// Exit codes: 0 somebody matches, 1 nobody does.
import { argv, env } from 'node:process';
import { pathToFileURL } from 'node:url';
import { countFaces, nearestFaces, openDatabase } from './database.mjs';
import { embed, judge, serverFromEnvironment } from './facematch.mjs';

/** @typedef {{ person: string, match: boolean, confidence_percent: number, extrapolated: boolean }} Found */

/**
 * How many were searched, and the best of them, best first. Of the image's faces the largest counts.
 * @returns {Promise<{ searched: number, results: Found[] }>}
 */
export async function identify(server, database, file, { threshold_percent = 70, k = 10 } = {}) {
  const { face } = await embed(server, file);
  const searched = await countFaces(database, face);
  const nearest = await nearestFaces(database, face, k);
  if (nearest.length === 0) return { searched, results: [] };
  const { results } = await judge(server, face, nearest, { searched, threshold_percent });
  const people = new Map(nearest.map(({ id, person }) => [id, person]));
  return {
    searched,
    results: results.map(({ id, ...result }) => ({ person: people.get(id), ...result })),
  };
}

if (import.meta.url === pathToFileURL(argv[1]).href) {
  const [, , file, threshold = '70'] = argv;
  if (!file) throw new Error('usage: identify.mjs PICTURE [THRESHOLD_PERCENT]');
  const database = await openDatabase({ url: env.DATABASE_URL, folder: 'faces-database' });
  const server = serverFromEnvironment();
  const { searched, results } = await identify(server, database, file, {
    threshold_percent: Number(threshold),
  });
  await database.close();
  console.log(`faces searched: ${searched}`);
  for (const { person, match, confidence_percent, extrapolated } of results) {
    const verdict = match ? 'match' : 'no match';
    const doubt = match && extrapolated ? ' (beyond what was measured)' : '';
    console.log(`${confidence_percent.toFixed(1).padStart(5)} %  ${verdict}: ${person}${doubt}`);
  }
  process.exitCode = results.some(({ match }) => match) ? 0 : 1;
}
