#!/usr/bin/env node
// Puts the faces of a folder's images into the database: FOLDER/PERSON.jpg, or several as FOLDER/PERSON/any.jpg.
//   FACEMATCH_KEY=… [DATABASE_URL=postgresql://…] node enrol.mjs FOLDER
// Without DATABASE_URL they go into PGlite, in the folder faces-database. Exit code 1 when anything was left out.
import { readdir } from 'node:fs/promises';
import { join, parse, relative, sep } from 'node:path';
import { argv, env } from 'node:process';
import { pathToFileURL } from 'node:url';
import { insertFace, openDatabase } from './database.mjs';
import { clientFromEnvironment, embed } from './facematch.mjs';

/** Puts what it can into the database. Answers how many photos, and what it left out and why. */
export async function enrol(client, database, folder) {
  let enrolled = 0;
  const leftOut = [];
  const tried = async (file, act) => {
    try {
      return await act();
    } catch (error) {
      // Of the image, or of photos that are not of one person: others may do.
      if (![413, 415, 422].includes(error.status)) throw error;
      leftOut.push({ file, reason: `${error.code}: ${error.message}` });
    }
  };
  for (const [person, files] of await peopleOf(folder)) {
    const good = [];
    for (const file of files) {
      // What is kept is compared again and again, so it has to be good, and of one person.
      const found = await tried(file, () => embed(client, file, { reject_low_quality: true }));
      if (found?.faces === 1) good.push(found.face);
      else if (found) leftOut.push({ file, reason: `${found.faces} faces: whose is it?` });
    }
    // A photo of somebody else would spoil what the others are worth: all of them, or none.
    const agreeing = await tried(join(folder, person), () => checkAgreement(client, good));
    for (const face of agreeing ?? []) await insertFace(database, { person, ...face });
    enrolled += agreeing?.length ?? 0;
  }
  return { enrolled, leftOut };
}

/** As many as the server compares at once. Rejects with the client's error where one of them is of somebody else. */
async function checkAgreement(client, faces) {
  const some = faces.slice(0, 16);
  if (some.length < 2) return some;
  const embeddings = some.map(({ embedding }) => embedding);
  const { embedding, ...madeBy } = some[0];
  await client.matchEmbeddings({ ...madeBy, embeddings, candidates: [{ id: 'first', embedding }] });
  return some;
}

/** Files by person: the first folder below, or else the file's name. */
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

if (import.meta.url === pathToFileURL(argv[1]).href) {
  const [, , folder] = argv;
  if (!folder) throw new Error('usage: enrol.mjs FOLDER');
  const database = await openDatabase({ url: env.DATABASE_URL, folder: 'faces-database' });
  const { enrolled, leftOut } = await enrol(clientFromEnvironment(), database, folder);
  await database.close();
  for (const { file, reason } of leftOut) console.error(`${file} was left out: ${reason}`);
  console.log(`enrolled: ${enrolled}`);
  process.exitCode = leftOut.length > 0 ? 1 : 0;
}
