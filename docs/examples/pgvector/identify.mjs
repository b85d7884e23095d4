#!/usr/bin/env node
// Who of those in the database is on this image, or on these images of one person?
//   FACEMATCH_KEY=… [DATABASE_URL=postgresql://…] node identify.mjs [--threshold PERCENT] IMAGE…
// Exit codes: 0 somebody matches, 1 nobody does.
import { argv, env } from 'node:process';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { countPeople, nearestPeople, openDatabase } from './database.mjs';
import { clientFromEnvironment, embed } from './facematch.mjs';

/** @typedef {{ id: string, match: boolean, confidence_percent: number, extrapolated: boolean }} Found */
/** @typedef {{ id: string, problem: { detail: string } }} Uncompared whose photos in the database disagree */

/**
 * How many people were searched, and those of the nearest `rows` photos, best first. Of each image the largest face counts.
 * @returns {Promise<{ searched: number, results: (Found | Uncompared)[] }>}
 */
export async function identify(client, database, files, { threshold_percent = 70, rows = 50 } = {}) {
  const faces = [];
  for (const file of files) faces.push((await embed(client, file)).face);
  const { embedding: _, ...madeBy } = faces[0];
  const probe = { ...madeBy, embeddings: faces.map(({ embedding }) => embedding) };
  const searched = await countPeople(database, madeBy);
  const candidates = await nearestPeople(database, probe, rows);
  if (candidates.length === 0) return { searched, results: [] };
  const { results } = await client.matchEmbeddings({ ...probe, candidates, searched, threshold_percent });
  return { searched, results };
}

if (import.meta.url === pathToFileURL(argv[1]).href) {
  const { values, positionals: files } = parseArgs({
    options: { threshold: { type: 'string', default: '70' } },
    allowPositionals: true,
  });
  if (files.length === 0) throw new Error('usage: identify.mjs [--threshold PERCENT] IMAGE…');
  const database = await openDatabase({ url: env.DATABASE_URL, folder: 'faces-database' });
  const { searched, results } = await identify(clientFromEnvironment(), database, files, {
    threshold_percent: Number(values.threshold),
  });
  await database.close();
  console.log(`people searched: ${searched}`);
  for (const { id: person, problem, match, confidence_percent, extrapolated } of results) {
    if (problem) console.log(`    – %  not compared: ${person}. ${problem.detail}`);
    else {
      const doubt = match && extrapolated ? ' (beyond what was measured)' : '';
      const verdict = match ? 'match' : 'no match';
      console.log(`${confidence_percent.toFixed(1).padStart(5)} %  ${verdict}: ${person}${doubt}`);
    }
  }
  process.exitCode = results.some(({ match }) => match) ? 0 : 1;
}
