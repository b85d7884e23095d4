import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';

/** Who may know whom. A request goes http → gate → engine → native, and nothing runs back but the answer. */

interface Import {
  /** Relative to src/. */
  from: string;
  /** As `from` for our own files, a package's or a built-in's name for others. */
  to: string;
  typeOnly: boolean;
}

const src = projectPath('src');
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .sort();
const textOf = (file: string) => readFileSync(join(src, file), 'utf8');

/** Static and dynamic imports and re-exports. Comments and texts hold none in this form. */
const statement =
  /^(?:import|export)\s+(type\s)?[^;'"]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm;

function importsOf(file: string): Import[] {
  return [...textOf(file).matchAll(statement)].map(([, type, named, bare, dynamic]) => {
    const to = named ?? bare ?? dynamic!;
    const own = to.startsWith('.');
    return {
      from: file,
      to: own ? relative(src, join(src, dirname(file), to)) : to,
      typeOnly: type !== undefined,
    };
  });
}

const imports = files.flatMap(importsOf);
const ownImports = imports.filter(({ to }) => to.endsWith('.ts'));

/** The room is the folder; a file at the top is a room of its own. */
const roomOf = (file: string) => (file.includes('/') ? file.slice(0, file.indexOf('/')) : file);

/** Tables and small things that know nobody above them. */
const ground = [
  'errors.ts',
  'paths.ts',
  'config.ts',
  'cpus.ts',
  'memory.ts',
  'version.ts',
  'calibration.ts',
  'readiness.ts',
  'redis-address.ts',
  'html.ts',
];

/** Room → rooms that it may import from, beside itself. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'errors.ts': [],
  'paths.ts': [],
  'cpus.ts': [],
  'memory.ts': [],
  'version.ts': ['paths.ts'],
  'calibration.ts': [],
  'readiness.ts': [],
  'redis-address.ts': [],
  'html.ts': [],
  'flat-json.ts': [],
  'settings-file.ts': ['flat-json.ts'],
  // Types alone.
  'setting-relations.ts': ['config.ts'],
  'config.ts': ['cpus.ts', 'redis-address.ts', 'settings-file.ts', 'setting-relations.ts'],
  // The request's way, from the right to the left.
  engine: ['errors.ts', 'paths.ts', 'config.ts'],
  gate: ['errors.ts', 'redis-address.ts'],
  telemetry: ['errors.ts', 'config.ts'],
  // Certificates are followed as the key file is.
  tls: ['gate'],
  http: ['gate', 'engine', 'telemetry', 'api', ...ground],
  // Describes http's tables; which of its files, the next test says.
  api: ['http', 'engine', 'demo', 'telemetry', ...ground],
  demo: ['http', 'config.ts', 'paths.ts'],
  eval: ['engine', 'calibration.ts', 'errors.ts', 'html.ts', 'paths.ts'],
  // The tops: each wires rooms together and is imported by nothing below.
  'server.ts': ['http', 'gate', 'engine', 'telemetry', 'tls', ...ground],
  'main.ts': ['server.ts', 'telemetry', 'config.ts'],
  'health.ts': ['config.ts'],
  cli: ['main.ts', 'eval', 'gate', 'engine', 'http', 'api', 'tls', ...ground],
};

/** Where a room may look into another through these files alone. */
const doors: readonly { from: string; to: string; values: readonly string[]; types: readonly string[] }[] = [
  {
    from: 'api',
    to: 'http',
    values: ['http/face-quality.ts', 'http/fields.ts', 'http/routes.ts'],
    types: ['http/exchange.ts', 'http/match-result.ts', 'http/handlers/models.ts'],
  },
  {
    from: 'api',
    to: 'demo',
    values: ['demo/page.ts'],
    types: [],
  },
  {
    from: 'api',
    to: 'telemetry',
    values: ['telemetry/metric-table.ts'],
    types: [],
  },
  {
    from: 'demo',
    to: 'http',
    values: ['http/fields.ts'],
    types: ['http/match-result.ts', 'http/routes.ts'],
  },
  {
    from: 'http',
    to: 'api',
    values: ['api/publications.ts'],
    types: [],
  },
  {
    from: 'http',
    to: 'gate',
    values: ['gate/gate.ts'],
    types: ['gate/keys.ts'],
  },
  {
    from: 'http',
    to: 'engine',
    values: [],
    types: [
      'engine/addon.ts',
      'engine/body-memory.ts',
      'engine/messages.ts',
      'engine/pack.ts',
      'engine/queue.ts',
    ],
  },
  {
    from: 'tls',
    to: 'gate',
    values: ['gate/file-watch.ts'],
    types: [],
  },
  {
    from: 'cli',
    to: 'http',
    // The doctor asks whether µWS loads.
    values: ['http/fields.ts', 'http/match-result.ts', 'http/match-result.ts', 'http/uws.ts'],
    types: [],
  },
  // docs/command-line.md looks as the other pages that are made.
  {
    from: 'cli',
    to: 'api',
    values: ['api/markdown.ts'],
    types: [],
  },
];

const show = ({ from, to }: Import) => `${from} → ${to}`;

test('every import was read', () => {
  const words = files.flatMap((file) => textOf(file).match(/\bfrom '|^import '|\bimport\('/gm) ?? []);
  expect(imports).toHaveLength(words.length);
  expect(imports.length).toBeGreaterThan(200);
});

test('every room has its line in the table', () => {
  expect([...new Set(files.map(roomOf))].sort()).toEqual(Object.keys(allowed).sort());
});

test('a room imports from the rooms of its line and from no other', () => {
  const wrong = ownImports.filter(({ from, to }) => {
    const [here, there] = [roomOf(from), roomOf(to)];
    return here !== there && !allowed[here]!.includes(there);
  });
  expect(wrong.map(show)).toEqual([]);
});

describe.each(doors)('from $from to $to', ({ from, to, values, types }) => {
  const through = ownImports.filter((one) => roomOf(one.from) === from && roomOf(one.to) === to);

  test('only the doors are used, and those for types not for values', () => {
    const wrong = through.filter((one) => {
      return !values.includes(one.to) && !(one.typeOnly && types.includes(one.to));
    });
    expect(wrong.map(show)).toEqual([]);
  });

  test('no door is left that nobody uses', () => {
    const used = new Set(through.map((one) => one.to));
    expect([...values, ...types].filter((door) => !used.has(door))).toEqual([]);
  });
});

/** Things that only some files may touch: a name or a package → these files. */
const kept: readonly [what: string, pattern: RegExp, files: readonly string[]][] = [
  ["the addon's file", /createRequire\(import\.meta\.url\)\(/, ['engine/addon.ts']],
  ['µWebSockets.js', /from 'uWebSockets|require\(name\)/, ['http/uws.ts']],
  [
    'the types and objects of µWS',
    /\/uws\.ts'/,
    [
      'cli/doctor/probe.ts',
      'http/exchange.ts',
      'http/listener.ts',
      'http/request.ts',
      'http/tls-listener.ts',
      'server.ts',
    ],
  ],
  // The child of the demo gets the environment of its parent.
  [
    'the environment',
    /process\.env|process\['env'\]|\benv\b[^;]*from 'node:process'/,
    ['cli/demo-server.ts', 'config.ts'],
  ],
  [
    'piscina',
    /from 'piscina'/,
    ['engine/pool.ts', 'engine/worker.ts', 'eval/embed-pictures.ts', 'eval/held-out.ts'],
  ],
  ['pino', /from 'pino'/, ['telemetry/telemetry.ts']],
  ['ioredis', /(?:from |import\()'ioredis'/, ['gate/redis-client.ts']],
  ['jsonc-parser', /'jsonc-parser'/, ['flat-json.ts']],
  ['leven', /from 'leven'/, ['settings-file.ts']],
];

test.each(kept)('%s is touched by its files alone', (_, pattern, owners) => {
  expect(files.filter((file) => pattern.test(textOf(file)))).toEqual(owners);
});
