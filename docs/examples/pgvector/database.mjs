// The table of faces, in PostgreSQL (DATABASE_URL) or, without one, in PGlite: PostgreSQL within this process.
import { readFile } from 'node:fs/promises';

/** @typedef {{ pack: string, version: string, accuracy_mode: string }} MadeBy */
/** @typedef {{ id: string, person: string, embedding: string }} Face embeddings in base64, as facematch gives and takes them */

/**
 * @param {{ url?: string | undefined, folder?: string }} [where] a PostgreSQL, or the folder of PGlite; in memory without both
 */
export async function openDatabase({ url, folder } = {}) {
  const database = url ? await connect(url) : await startPGlite(folder);
  await database.exec(await readFile(new URL('schema.sql', import.meta.url), 'utf8'));
  // An index knows nothing of WHERE. So it goes on looking until there are enough rows that fit.
  await database.exec('SET hnsw.iterative_scan = strict_order; SET hnsw.ef_search = 100');
  return database;
}

async function connect(url) {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    exec: (sql) => client.query(sql),
    query: async (sql, values) => (await client.query(sql, values)).rows,
    close: () => client.end(),
  };
}

async function startPGlite(folder) {
  const { PGlite } = await import('@electric-sql/pglite');
  const { vector } = await import('@electric-sql/pglite-pgvector');
  const db = await PGlite.create({ ...(folder && { dataDir: folder }), extensions: { vector } });
  return {
    exec: (sql) => db.exec(sql),
    query: async (sql, values) => (await db.query(sql, values)).rows,
    close: () => db.close(),
  };
}

/** @param {MadeBy & { person: string, embedding: string }} face */
export async function insertFace(database, { person, embedding, ...madeBy }) {
  await database.query(
    'INSERT INTO faces (person, pack, version, accuracy_mode, embedding) VALUES ($1, $2, $3, $4, $5)',
    [person, ...values(madeBy), toVector(embedding)],
  );
}

/** How many faces a search among those of `madeBy` compares. */
export async function countFaces(database, madeBy) {
  const sql = 'SELECT count(*)::int AS n FROM faces WHERE (pack, version, accuracy_mode) = ($1, $2, $3)';
  return (await database.query(sql, values(madeBy)))[0].n;
}

/**
 * The nearest faces by cosine, of the same pack, version and mode alone.
 * @param {MadeBy & { embedding: string }} probe
 * @returns {Promise<Face[]>}
 */
export async function nearestFaces(database, { embedding, ...madeBy }, k = 10) {
  const sql = `SELECT id::text, person, embedding::text FROM faces
    WHERE (pack, version, accuracy_mode) = ($1, $2, $3) ORDER BY embedding <=> $4 LIMIT $5`;
  const rows = await database.query(sql, [...values(madeBy), toVector(embedding), k]);
  return rows.map((row) => ({ ...row, embedding: fromVector(row.embedding) }));
}

const values = ({ pack, version, accuracy_mode }) => [pack, version, accuracy_mode];

/** Base64 of little-endian 32-bit floats → pgvector's text. */
export function toVector(base64) {
  const bytes = Buffer.from(base64, 'base64');
  return JSON.stringify(Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i)));
}

/** And back. PostgreSQL writes as many digits as bring the same float back. */
function fromVector(text) {
  const numbers = JSON.parse(text);
  const bytes = Buffer.alloc(4 * numbers.length);
  for (const [i, number] of numbers.entries()) bytes.writeFloatLE(number, 4 * i);
  return bytes.toString('base64');
}
