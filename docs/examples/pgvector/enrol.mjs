#!/usr/bin/env node
// Puts the faces of a folder's images into the database: FOLDER/PERSON.jpg or FOLDER/PERSON/any.jpg.
//   FACEMATCH_KEY=… [DATABASE_URL=postgresql://…] node enrol.mjs FOLDER
// Without DATABASE_URL they go into PGlite, in the folder faces-database. Exit code 1 when an image was left out.
import { readdir } from 'node:fs/promises';
import { join, parse, relative, sep } from 'node:path';
import { argv, env } from 'node:process';
import { pathToFileURL } from 'node:url';
import { insertFace, openDatabase } from './database.mjs';
import { embed, Refusal, serverFromEnvironment } from './facematch.mjs';

/** Puts what it can into the database. Answers how many, and which images it left out and why. */
export async function enrol(server, database, folder) {
  let enrolled = 0;
  const leftOut = [];
  for (const { file, person } of await picturesOf(folder)) {
    try {
      // What is kept is compared again and again, so it has to be good, and has to be of one person.
      const { face, faces } = await embed(server, file, { reject_low_quality: true });
      if (faces > 1) throw new Refusal(`${faces} faces: whose is it?`);
      await insertFace(database, { person, ...face });
      enrolled += 1;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      leftOut.push({ file, reason: error.message });
    }
  }
  return { enrolled, leftOut };
}

/** The person is the first folder below, or else the file's name. */
export async function picturesOf(folder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile() && /\.(?:jpe?g|png|webp)$/i.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((file) => ({ file, person: parse(relative(folder, file).split(sep)[0]).name }));
}

if (import.meta.url === pathToFileURL(argv[1]).href) {
  const [, , folder] = argv;
  if (!folder) throw new Error('usage: enrol.mjs FOLDER');
  const database = await openDatabase({ url: env.DATABASE_URL, folder: 'faces-database' });
  const { enrolled, leftOut } = await enrol(serverFromEnvironment(), database, folder);
  await database.close();
  for (const { file, reason } of leftOut) console.error(`${file} was left out: ${reason}`);
  console.log(`enrolled: ${enrolled}`);
  process.exitCode = leftOut.length > 0 ? 1 : 0;
}
