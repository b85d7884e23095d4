// The table of faces, in PostgreSQL (DATABASE_URL) or in PGlite, which is PostgreSQL within this process.
import { readFile } from 'node:fs/promises';

/** @typedef {{ pack: string, version: string, accuracy_mode: string }} MadeBy */
/** @typedef {{ id: string, embeddings: string[] }} Person with embeddings in facematch's base64 */

/** Maximum number of photos of one person that facematch accepts. */
const maxPhotos = 16;

/**
 * Opens the database and creates the table.
 * @param {{ url?: string | undefined, folder?: string }} [where] URL of PostgreSQL, or folder of PGlite; default: in memory
 */
export async function openDatabase({ url, folder } = {}) {
  const database = url ? await connect(url) : await startPGlite(folder);
  await database.exec(await readFile(new URL('schema.sql', import.meta.url), 'utf8'));
  // The index ignores WHERE, so the search continues until enough rows satisfy it.
  await database.exec('SET hnsw.iterative_scan = strict_order; SET hnsw.ef_search = 100');
  return database;
}

/** Returns a client of PostgreSQL with the methods of PGlite that the example uses. */
async function connect(url) {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return Object.assign(client, { exec: (sql) => client.query(sql), close: () => client.end() });
}

async function startPGlite(folder) {
  const { PGlite } = await import('@electric-sql/pglite');
  const { vector } = await import('@electric-sql/pglite-pgvector');
  return PGlite.create({ ...(folder && { dataDir: folder }), extensions: { vector } });
}

/** @param {MadeBy & { person: string, embedding: string }} face */
export async function insertFace(database, { person, embedding, ...madeBy }) {
  await database.query(
    'INSERT INTO faces (person, pack, version, accuracy_mode, embedding) VALUES ($1, $2, $3, $4, $5)',
    [person, ...values(madeBy), toVector(embedding)],
  );
}

/** Returns the number of people with embeddings of this pack, version and mode. */
export async function countPeople(database, madeBy) {
  const sql = `SELECT count(DISTINCT person)::int AS n FROM faces WHERE (pack, version, accuracy_mode) = ($1, $2, $3)`;
  const { rows } = await database.query(sql, values(madeBy));
  return rows[0].n;
}

/**
 * Returns the people of the `rows` nearest faces by cosine, each with the newest photos of this pack, version and mode.
 * @param {MadeBy & { embeddings: string[] }} probe
 * @returns {Promise<Person[]>}
 */
export async function nearestPeople(database, { embeddings, ...madeBy }, rows = 50) {
  const sql = `SELECT person AS id, (array_agg(embedding::text ORDER BY id DESC))[1:${maxPhotos}] AS photos FROM faces
    WHERE (pack, version, accuracy_mode) = ($1, $2, $3) AND person IN (
      SELECT person FROM (SELECT person FROM faces WHERE (pack, version, accuracy_mode) = ($1, $2, $3)
        ORDER BY embedding <=> $4 LIMIT $5) AS nearest)
    GROUP BY person`;
  const people = await database.query(sql, [...values(madeBy), sumOf(embeddings), rows]);
  return people.rows.map(({ id, photos }) => ({ id, embeddings: photos.map(fromVector) }));
}

const values = ({ pack, version, accuracy_mode }) => [pack, version, accuracy_mode];

/** Decodes base64 of little-endian 32-bit floats. */
function numbersOf(base64) {
  const bytes = Buffer.from(base64, 'base64');
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}

/** Converts an embedding to pgvector's text format. */
export const toVector = (base64) => JSON.stringify(numbersOf(base64));

/** Returns the sum of the embeddings, which has the direction of their mean, in pgvector's text format. */
function sumOf(embeddings) {
  const [first, ...others] = embeddings.map(numbersOf);
  return JSON.stringify(first.map((number, i) => others.reduce((sum, other) => sum + other[i], number)));
}

/** Converts pgvector's text format to base64. PostgreSQL writes enough digits to restore the same floats. */
function fromVector(text) {
  return Buffer.from(Float32Array.from(JSON.parse(text)).buffer).toString('base64');
}
