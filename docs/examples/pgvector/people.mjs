#!/usr/bin/env node
// Enrols and identifies people with a database. If you copy it, also copy dist/client/facematch.mjs, and change its import.
//   FACEMATCH_KEY=… [DATABASE_URL=postgresql://…] node people.mjs enrol FOLDER
// Stores the faces of a folder's images: FOLDER/PERSON.jpg, or FOLDER/PERSON/any.jpg if a person has several images.
// Exits with code 1 if an image was rejected.
//   FACEMATCH_KEY=… [DATABASE_URL=postgresql://…] node people.mjs identify IMAGE…
// Searches the database for the person in the image, or in several images of one person. Exits with code 1 if no person matches.
// The key needs the scopes `embed` and `match:embeddings`. Without DATABASE_URL, the database is PGlite in the folder faces-database.
import { readdir, readFile } from 'node:fs/promises';
import { join, parse, relative, sep } from 'node:path';
import { argv, env } from 'node:process';
import { pathToFileURL } from 'node:url';
import { FacematchClient } from '../../../dist/client/facematch.mjs';
import { countPeople, insertFace, nearestPeople, openDatabase } from './database.mjs';

/** @typedef {{ id: string, match: boolean, confidence_percent: number, extrapolated: boolean }} Found */
/** @typedef {{ id: string, problem: { detail: string } }} Uncompared person whose photos in the database disagree */

/** Returns the largest face of an image, and the number of faces. Rejects with the client's error. */
export async function embed(client, file, fields = {}) {
  const { image, embedding } = await client.embed(await readFile(file), { ...fields, face_index: 0 });
  const { pack, version, accuracy_mode } = embedding;
  return {
    face: { pack, version, accuracy_mode, embedding: image.faces[0].embedding },
    faces: image.faces.length,
  };
}

/** Enrols the photos in the database. Returns their number, and the rejected files with the reason. */
export async function enrol(client, database, folder) {
  let enrolled = 0;
  const rejected = [];
  const tried = async (file, act) => {
    try {
      return await act();
    } catch (error) {
      // Errors of the image, or of photos that do not show one person: other photos may succeed.
      if (![413, 415, 422].includes(error.status)) throw error;
      rejected.push({ file, reason: `${error.code}: ${error.message}` });
    }
  };
  for (const [person, files] of await peopleOf(folder)) {
    const good = [];
    for (const file of files) {
      // Stored embeddings are compared many times, so they must be of good quality and of one person.
      const found = await tried(file, () => embed(client, file, { reject_low_quality: true }));
      if (found?.faces === 1) good.push(found.face);
      else if (found) rejected.push({ file, reason: `it shows ${found.faces} faces` });
    }
    // A photo of another person would make the mean embedding wrong, so either all photos are stored or none.
    const agreeing = await tried(join(folder, person), () => checkAgreement(client, good));
    for (const face of agreeing ?? []) await insertFace(database, { person, ...face });
    enrolled += agreeing?.length ?? 0;
  }
  return { enrolled, rejected };
}

/**
 * Checks that the photos show one person, and returns them: at most 16, the maximum of a request. Rejects with the
 * client's error if a photo shows another person.
 */
async function checkAgreement(client, faces) {
  const some = faces.slice(0, 16);
  if (some.length < 2) return some;
  const embeddings = some.map(({ embedding }) => embedding);
  const { embedding, ...madeBy } = some[0];
  await client.matchEmbeddings({ ...madeBy, embeddings, candidates: [{ id: 'first', embedding }] });
  return some;
}

/** Returns the files by person. The name of a person is that of the subfolder, or otherwise that of the file. */
async function peopleOf(folder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const people = new Map();
  for (const { name, parentPath } of entries.filter((entry) => entry.isFile())) {
    if (!/\.(?:jpe?g|png|webp)$/i.test(name)) continue;
    const file = join(parentPath, name);
    const person = parse(relative(folder, file).split(sep)[0]).name;
    people.set(person, [...(people.get(person) ?? []), file].sort());
  }
  return [...people].sort();
}

/**
 * Returns the number of people searched, and the people of the nearest `rows` photos, best first. Uses the largest face
 * of each image.
 * @returns {Promise<{ searched: number, results: (Found | Uncompared)[] }>}
 */
export async function identify(client, database, files, { rows = 50 } = {}) {
  const faces = [];
  for (const file of files) faces.push((await embed(client, file)).face);
  const { embedding: _, ...madeBy } = faces[0];
  const probe = { ...madeBy, embeddings: faces.map(({ embedding }) => embedding) };
  const searched = await countPeople(database, madeBy);
  const candidates = await nearestPeople(database, probe, rows);
  if (candidates.length === 0) return { searched, results: [] };
  const { results } = await client.matchEmbeddings({ ...probe, candidates, searched });
  return { searched, results };
}

function describeResult({ id: person, problem, match, confidence_percent, extrapolated }) {
  if (problem) return `    – %  not compared: ${person}. ${problem.detail}`;
  const doubt = match && extrapolated ? ' (beyond the measured range)' : '';
  return `${confidence_percent.toFixed(1).padStart(5)} %  ${match ? 'match' : 'no match'}: ${person}${doubt}`;
}

/** The commands by name. Each returns true for exit code 0. */
const commands = {
  async enrol(client, database, [folder]) {
    const { enrolled, rejected } = await enrol(client, database, folder);
    for (const { file, reason } of rejected) console.error(`rejected ${file}: ${reason}`);
    console.log(`enrolled: ${enrolled}`);
    return rejected.length === 0;
  },
  async identify(client, database, files) {
    const { searched, results } = await identify(client, database, files);
    console.log(`people searched: ${searched}`);
    for (const result of results) console.log(describeResult(result));
    return results.some(({ match }) => match);
  },
};

if (import.meta.url === pathToFileURL(argv[1]).href) {
  const [, , name, ...paths] = argv;
  const { FACEMATCH_URL: url = 'http://127.0.0.1:8080', FACEMATCH_KEY: key, DATABASE_URL } = env;
  if (!(name in commands) || paths.length === 0)
    throw new Error('usage: people.mjs enrol FOLDER, or people.mjs identify IMAGE…');
  if (!key) throw new Error('set FACEMATCH_KEY to your API key');
  const database = await openDatabase({ url: DATABASE_URL, folder: 'faces-database' });
  const isWell = await commands[name](new FacematchClient({ url, key }), database, paths);
  await database.close();
  process.exitCode = isWell ? 0 : 1;
}
