#!/usr/bin/env node
// How often, and how fast, does the index find what an exact search finds; and who is identified then?
//   FACEMATCH_KEY=… [DATABASE_URL=postgresql://…] node recall.mjs FOLDER
// Of every person of FOLDER (PERSON/*.jpg) the first picture is enrolled, and the second, where there is one, is searched for.
// The database must have no faces; without DATABASE_URL it is PGlite, in memory.
import { argv, env } from 'node:process';
import { insertFace, nearestFaces, openDatabase, toVector } from './database.mjs';
import { picturesOf } from './enrol.mjs';
import { embed, judge, Refusal, serverFromEnvironment } from './facematch.mjs';

const k = 10;
const widths = [40, 100, 200];
/** Among how many people the probes are judged as if they had been searched. */
const sizes = [1000, 100_000, 1_000_000];
const thresholds = [50, 60, 70];

const [, , folder] = argv;
if (!folder) throw new Error('usage: recall.mjs FOLDER');
const server = serverFromEnvironment();
const database = await openDatabase({ url: env.DATABASE_URL });
const [{ n: already }] = await database.query('SELECT count(*)::int AS n FROM faces');
if (already > 0) throw new Error('the database has faces already');

const pictures = new Map();
for (const { person, file } of await picturesOf(folder))
  pictures.set(person, [...(pictures.get(person) ?? []), file]);
const gallery = await embedAll([...pictures].map(([person, [file]]) => ({ person, file })));
const known = new Set(gallery.map(({ person }) => person));
const probes = await embedAll(
  [...pictures].flatMap(([person, [, file]]) => (file && known.has(person) ? [{ person, file }] : [])),
);
show('people enrolled, probes', `${gallery.length}, ${probes.length}`);
const [{ version }] = await database.query("SELECT current_setting('server_version') AS version");
const [{ extversion }] = await database.query("SELECT extversion FROM pg_extension WHERE extname = 'vector'");
show(
  'database',
  `${env.DATABASE_URL ? 'PostgreSQL' : 'PGlite, PostgreSQL'} ${version}, pgvector ${extversion}`,
);

const [{ indexdef }] = await database.query(
  "SELECT indexdef FROM pg_indexes WHERE indexname = 'faces_nearest'",
);
await database.exec('DROP INDEX faces_nearest');
for (const { person, face } of gallery) await insertFace(database, { person, ...face });
await database.exec('ANALYZE faces');

const exact = await searchAll();
show('exact search, ms', exact.times);
const start = performance.now();
await database.exec(indexdef);
show('HNSW index built in, ms', (performance.now() - start).toFixed(0));
show('the planner takes the index by itself', (await takesIndex()) ? 'yes' : 'no');
// Else the planner may sort so small a table instead.
await database.exec('SET enable_sort = off');
if (!(await takesIndex())) throw new Error('the index is not used');
for (const width of widths) {
  await database.exec(`SET hnsw.ef_search = ${width}`);
  const found = await searchAll();
  const first = share(found.ids, (ids, i) => ids[0] === exact.ids[i][0]);
  const all = mean(found.ids.map((ids, i) => ids.filter((id) => exact.ids[i].includes(id)).length / k));
  show(`HNSW, ef_search ${width}, ms`, found.times);
  show(`HNSW, ef_search ${width}: recall@1, recall@${k}`, `${percent(first)}, ${percent(all)}`);
}

const nearest = [];
for (const { face } of probes) nearest.push(await nearestFaces(database, face, k + 1));
const right = nearest.map((faces, i) =>
  faces.slice(0, k).filter(({ person }) => person === probes[i].person),
);
const wrong = nearest.map((faces, i) =>
  faces.filter(({ person }) => person !== probes[i].person).slice(0, k),
);
show('right person is the nearest by cosine', percent(share(nearest, ([face], i) => face === right[i][0])));
const first = await bestOf(nearest, gallery.length);
show('right person is first by percent', percent(share(first, ({ id }, i) => id === right[i][0]?.id)));
for (const searched of sizes)
  show(`right person passes, among ${searched.toLocaleString('en')}`, passing(await bestOf(right, searched)));
const others = await bestOf(wrong, gallery.length);
show('somebody else passes, of those who are there', passing(others));
// Look at these pictures: the names of some may be wrong.
for (const [i, best] of others.entries()) {
  if (!(best?.confidence_percent >= thresholds[0])) continue;
  const { person } = wrong[i].find(({ id }) => id === best.id);
  console.error(`${probes[i].person} passes for ${person} at ${best.confidence_percent} percent`);
}

await database.exec('TRUNCATE faces');
await database.close();

/** Four pictures at a time; those without a face are left out and named. */
async function embedAll(list) {
  const embedded = new Array(list.length);
  const rest = list.entries();
  const work = async () => {
    for (const [i, { person, file }] of rest) {
      try {
        embedded[i] = { person, face: (await embed(server, file)).face };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        console.error(`${file} was left out: ${error.message}`);
      }
    }
  };
  await Promise.all(Array.from({ length: 4 }, work));
  return embedded.filter((one) => one !== undefined);
}

function question({ face }) {
  const { pack, version, accuracy_mode, embedding } = face;
  const sql = `SELECT id FROM faces WHERE (pack, version, accuracy_mode) = ($1, $2, $3)
    ORDER BY embedding <=> $4 LIMIT ${k}`;
  return [sql, [pack, version, accuracy_mode, toVector(embedding)]];
}

/** Every probe twice; the second time counts. */
async function searchAll() {
  const ids = [];
  const times = [];
  for (const round of [1, 2]) {
    for (const [i, probe] of probes.entries()) {
      const [sql, values] = question(probe);
      const start = performance.now();
      const rows = await database.query(sql, values);
      if (round === 2) times.push(performance.now() - start);
      ids[i] = rows.map(({ id }) => String(id));
    }
  }
  times.sort((a, b) => a - b);
  const at = (part) => times[Math.floor(part * (times.length - 1))].toFixed(2);
  return { ids, times: `median ${at(0.5)}, 95 % within ${at(0.95)}` };
}

async function takesIndex() {
  const [sql, values] = question(probes[0]);
  const plan = await database.query(`EXPLAIN ${sql}`, values);
  return JSON.stringify(plan).includes('faces_nearest');
}

/** The best result of each probe, against its candidates; undefined where there is none. */
async function bestOf(candidates, searched) {
  const best = [];
  for (const [i, { face }] of probes.entries()) {
    if (candidates[i].length === 0) best.push(undefined);
    else best.push((await judge(server, face, candidates[i], { searched })).results[0]);
  }
  return best;
}

function passing(results) {
  const of = (threshold) => share(results, (result) => (result?.confidence_percent ?? 0) >= threshold);
  return thresholds.map((threshold) => `at ${threshold}: ${percent(of(threshold))}`).join(', ');
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
function share(list, is) {
  return list.filter(is).length / list.length;
}
function percent(part) {
  return `${(100 * part).toFixed(2)} %`;
}
function show(what, value) {
  console.log(`${what}: ${value}`);
}
