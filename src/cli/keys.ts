import { type Command, InvalidArgumentError, Option } from 'commander';
import type { KeyRecord } from '../auth/key-file.ts';
import {
  defaultScopes,
  isLine,
  type KeyStatus,
  keyLimits,
  type Scope,
  scopes,
  statusOf,
} from '../auth/keys.ts';
import { addHelp } from './help.ts';
import type { KeySettings, ScopeChange } from './key-edits.ts';
import { aligned } from './terminal.ts';

const defaultFile = './keys.json';

interface CreateOptions extends Omit<KeySettings, 'expires_in_ms'> {
  file: string;
  json?: true;
  expires?: number;
}

export function registerKeys(program: Command): void {
  const keys = program.command('keys').description('create, list, change, revoke and rotate API keys');
  registerCreate(keys);
  registerList(keys);
  registerScopes(keys);
  registerRevoke(keys);
  registerRotate(keys);
  addHelp(keys, {
    notes: 'A running server applies every change within seconds.',
    examples: ['facematch keys create --name my-app', 'facematch keys list'],
  });
}

function registerCreate(keys: Command): void {
  const command = keys
    .command('create')
    .description('create a key and print it once; the file keeps only its SHA-256')
    .requiredOption('--name <name>', 'name of the key, such as that of the application', parseName)
    .addOption(
      new Option('--scopes <list>', 'comma-separated list of scopes')
        .argParser(parseScopes)
        .default([...defaultScopes], defaultScopes.join(',')),
    )
    .option('--rate <number>', 'sustained requests per second', parseRate, 50)
    .option('--burst <number>', 'maximum burst of requests', parseBurst, 100)
    .option('--concurrent <number>', 'maximum concurrent requests; default: unlimited', parseConcurrent)
    .option('--expires <duration>', 'lifetime of the key (1h, 90d, 52w); default: unlimited', parseDuration)
    .option('--note <text>', 'free-form note', parseNote)
    .option('--json', 'print the key and its settings as JSON')
    .addOption(fileOption())
    .action(async ({ file: _, json, expires, ...chosen }: CreateOptions) => {
      const { create, editKeyFile } = await import('./key-edits.ts');
      const file = fileOf(command);
      const settings = expires === undefined ? chosen : { ...chosen, expires_in_ms: expires };
      const { key, record } = editKeyFile(file, (records) => create(records, settings, Date.now()));
      console.error(`Created the key ${describeKey(record)} in ${file}.`);
      printKey(key, json ? { key, ...shown(record) } : undefined);
    });
  addHelp(command, {
    notes: 'Only the key is printed to standard output.',
    examples: [
      'facematch keys create --name my-app',
      'facematch keys create --name trial --scopes match:basic --rate 2 --burst 5 --expires 90d',
      'KEY=$(facematch keys create --name ci --expires 1h)',
    ],
  });
}

function registerList(keys: Command): void {
  const command = keys
    .command('list')
    .description('list the keys of the file, without their secrets')
    .option('--json', 'print the keys as JSON')
    .addOption(fileOption())
    .action(async ({ json }: { json?: true }) => {
      const { readKeyFile } = await import('../auth/key-file.ts');
      const listed = readKeyFile(fileOf(command)).map(shown);
      if (json) printJson(listed);
      else console.log(keyTable(listed));
    });
  addHelp(command, { examples: ['facematch keys list'] });
}

function registerScopes(keys: Command): void {
  const command = keys
    .command('scopes')
    .description('add scopes to a key or remove them')
    .argument('<key>', 'name of the key, or its id (the 12 characters after fm_)')
    .option('--add <list>', 'scopes to add, separated by commas', parseScopes)
    .option('--remove <list>', 'scopes to remove, separated by commas', parseScopes)
    .option('--json', 'print the changed key as JSON')
    .addOption(fileOption())
    .action(async (id: string, { add = [], remove = [], json }: Partial<ScopeChange> & { json?: true }) => {
      checkNoKey(id, command);
      const twice = add.find((scope) => remove.includes(scope));
      if (twice !== undefined) command.error(`error: --add and --remove both name ${twice}`);
      if (add.length + remove.length === 0) command.error('error: expected --add <list> or --remove <list>');
      const { changeScopes, editKeyFile } = await import('./key-edits.ts');
      const change = { add, remove };
      const { record } = editKeyFile(fileOf(command), (records) =>
        changeScopes(records, id, change, Date.now()),
      );
      console.error(`The key ${describeKey(record)} has the scopes ${record.scopes.join(', ')}.`);
      if (json) printJson(shown(record));
    });
  addHelp(command, {
    notes: 'The key itself does not change.',
    examples: [
      'facematch keys scopes my-app --add match:person',
      'facematch keys scopes 4fQ0ZtXy81Ab --add detect --remove match:many',
    ],
  });
}

function registerRevoke(keys: Command): void {
  const command = keys
    .command('revoke')
    .description('revoke a key')
    .argument('<key>', 'name of the key, or its id (the 12 characters after fm_)')
    .option('--json', 'print the revoked key as JSON')
    .addOption(fileOption())
    .action(async (id: string, { json }: { json?: true }) => {
      checkNoKey(id, command);
      const { editKeyFile, revoke } = await import('./key-edits.ts');
      const { record } = editKeyFile(fileOf(command), (records) => revoke(records, id, Date.now()));
      console.error(`The key ${describeKey(record)} was revoked at ${record.revoked_at}.`);
      if (json) printJson(shown(record));
    });
  addHelp(command, { examples: ['facematch keys revoke my-app'] });
}

function registerRotate(keys: Command): void {
  const command = keys
    .command('rotate')
    .description('create a key with the settings of an old one and revoke the old one')
    .argument('<key>', 'name of the old key, or its id (the 12 characters after fm_)')
    .option('--grace <duration>', 'how long the old key stays valid (1h, 7d)', parseDuration, 0)
    .option('--json', 'print the new key and its settings as JSON, and the old key as "retired"')
    .addOption(fileOption())
    .action(async (id: string, { grace, json }: { grace: number; json?: true }) => {
      checkNoKey(id, command);
      const { editKeyFile, rotate } = await import('./key-edits.ts');
      const file = fileOf(command);
      const { key, record, retired } = editKeyFile(file, (records) => rotate(records, id, Date.now(), grace));
      console.error(`Created the key ${describeKey(record)} in ${file}.`);
      const verb = grace > 0 ? 'works until' : 'was revoked at';
      console.error(`The old key ${describeKey(retired)} ${verb} ${retired.revoked_at}.`);
      printKey(key, json ? { key, ...shown(record), retired: shown(retired) } : undefined);
    });
  addHelp(command, {
    notes:
      'Only the new key is printed to standard output. If the old key had a lifetime, the new key gets the same lifetime from now.',
    examples: ['facematch keys rotate 4fQ0ZtXy81Ab --grace 1h'],
  });
}

function fileOption(): Option {
  return new Option('--file <path>', 'the key file').env('FACEMATCH_KEYS_FILE').default(defaultFile);
}

/**
 * Returns the path of the key file. An empty variable counts as unset, as for the server; an empty option is an
 * error.
 */
function fileOf(command: Command): string {
  const { file } = command.opts<{ file: string }>();
  if (file.trim() !== '') return file;
  if (command.getOptionValueSource('file') === 'env') return defaultFile;
  return command.error("error: option '--file <path>' expects the path of the key file");
}

/** Rejects a whole key. It is not an argument parser, because commander would print the key in its message. */
function checkNoKey(text: string, command: Command): void {
  if (/^fm_|^\w{43}$/.test(text))
    command.error(
      'error: expected as <key> the name of the key, or the 12 letters and digits between fm_ and the next _',
    );
}

/** Prints the key, or the JSON that contains it, to standard output, and instructions to standard error. */
function printKey(key: string, json: object | undefined): void {
  console.error(
    'Store the key now: it is not shown again. Send it in the x-api-key header, or as Authorization: Bearer.',
  );
  if (json === undefined) console.log(key);
  else printJson(json);
}

/** A key record without the hash of the key. */
type ShownKey = Omit<KeyRecord, 'sha256'> & { status: KeyStatus };

function shown({ sha256: _, ...record }: KeyRecord): ShownKey {
  return { ...record, status: statusOf(record, Date.now()) };
}

function printJson(value: object): void {
  console.log(JSON.stringify(value, null, 2));
}

const columns = [
  'id',
  'name',
  'status',
  'scopes',
  'rate',
  'burst',
  'concurrent',
  'created_at',
  'expires_at',
  'revoked_at',
  'note',
] as const satisfies readonly (keyof ShownKey)[];

/** Formats the keys as a table, without columns that no key uses. */
function keyTable(rows: readonly ShownKey[]): string {
  if (rows.length === 0) return 'There are no keys.';
  const cells = rows.map((row) => columns.map((column) => String(row[column] ?? '')));
  const used = columns.map((_, at) => at).filter((at) => cells.some((row) => row[at] !== ''));
  return aligned([columns, ...cells].map((row) => used.map((at) => row[at]!))).join('\n');
}

const describeKey = ({ id, name }: Pick<KeyRecord, 'id' | 'name'>): string => `${id} ("${name}")`;

/** Option parsers of the key commands. Each throws InvalidArgumentError; commander adds the option's name and value. */

const lineUpTo = (max: number) => (text: string) => {
  const line = text.trim();
  if (line.length >= 1 && line.length <= max && isLine(line)) return line;
  throw new InvalidArgumentError(`Expected 1 to ${max} characters on one line.`);
};

const countUpTo = (max: number) => (text: string) => {
  const count = /^\d{1,7}$/.test(text) ? Number(text) : Number.NaN;
  if (count >= 1 && count <= max) return count;
  throw new InvalidArgumentError(`Expected a whole number from 1 to ${max}.`);
};

const parseName = lineUpTo(keyLimits.name);
const parseNote = lineUpTo(keyLimits.note);
const parseBurst = countUpTo(keyLimits.burst);
const parseConcurrent = countUpTo(keyLimits.concurrent);

function parseScopes(text: string): Scope[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.some((name) => !scopes.some((scope) => scope === name))) {
    throw new InvalidArgumentError(`Expected one or more of ${scopes.join(',')}.`);
  }
  // Stored in the order of the table, without duplicates.
  return scopes.filter((scope) => names.includes(scope));
}

function parseRate(text: string): number {
  const rate = /^\d{1,7}(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
  if (rate > 0 && rate <= keyLimits.rate) return rate;
  throw new InvalidArgumentError(`Expected requests per second, above 0 and at most ${keyLimits.rate}.`);
}

const units = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 } as const;
const maxDays = 36_500;

/** Parses a duration such as `90d` into milliseconds. */
function parseDuration(text: string): number {
  const [, count, unit] = /^(\d{1,12})([smhdw])$/.exec(text) ?? [];
  const seconds = Number(count) * units[unit as keyof typeof units];
  if (seconds > 0 && seconds <= maxDays * units.d) return seconds * 1000;
  throw new InvalidArgumentError(
    'Expected a number and a unit (s, m, h, d or w), at most 100 years: 1h, 90d, 52w.',
  );
}
