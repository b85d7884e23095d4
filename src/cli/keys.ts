import { type Command, Option } from 'commander';
import { isKeyId } from '../gate/key-format.ts';
import type { KeyRecord, KeySettings } from '../gate/key-record.ts';
import { scopes } from '../gate/scopes.ts';
import * as parse from './key-options.ts';

const defaultFile = './keys.json';

interface CreateOptions extends Omit<KeySettings, 'expires_in_ms'> {
  file: string;
  expires?: number;
}

export function registerKeys(program: Command): void {
  const keys = program.command('keys').description('create, list, revoke and rotate API keys');
  registerCreate(keys);
  registerList(keys);
  registerRevoke(keys);
  registerRotate(keys);
}

function registerCreate(keys: Command): void {
  keys
    .command('create')
    .description('make a key and print it, once: the file keeps only its SHA-256')
    .requiredOption('--name <name>', 'who or what uses the key', parse.parseName)
    .addOption(
      new Option('--scopes <list>', 'what it may be used for, with commas between')
        .argParser(parse.parseScopes)
        .default([...scopes], scopes.join(',')),
    )
    .option('--rate <number>', 'requests per second that it may go on making', parse.parseRate, 50)
    .option('--burst <number>', 'requests that it may make at once', parse.parseBurst, 100)
    .option(
      '--expires <duration>',
      'refuse it after this long (1h, 90d, 52w); never when absent',
      parse.parseDuration,
    )
    .option('--note <text>', 'anything worth remembering about it', parse.parseNote)
    .addOption(fileOption())
    .addHelpText(
      'after',
      `
The key goes to standard output alone, everything else to standard error.

Examples:
  facematch keys create --name my-app
  facematch keys create --name trial --scopes match:basic --rate 2 --burst 5 --expires 90d
  KEY=$(facematch keys create --name ci --expires 1h)`,
    )
    .action(async (options: CreateOptions, command: Command) => {
      const { editKeyFile } = await import('../gate/key-file.ts');
      const { create } = await import('../gate/key-edits.ts');
      const { file: _, expires, ...chosen } = options;
      const file = fileOf(command);
      const settings = expires === undefined ? chosen : { ...chosen, expires_in_ms: expires };
      const { key, record } = editKeyFile(file, (records) => create(records, settings, Date.now()));
      console.error(`Made the key ${describe(record)} in ${file}.`);
      hand(key);
    });
}

function registerList(keys: Command): void {
  keys
    .command('list')
    .description('show every key of the file, never its secret')
    .option('--json', 'as JSON')
    .addOption(fileOption())
    .addHelpText('after', '\nExamples:\n  facematch keys list\n  facematch keys list --json')
    .action(async ({ json }: { json?: true }, command: Command) => {
      const { readKeyFile } = await import('../gate/key-file.ts');
      const { statusOf } = await import('../gate/key-record.ts');
      const now_ms = Date.now();
      const rows = readKeyFile(fileOf(command)).map(({ sha256: _, ...shown }) => shown);
      const listed = rows.map((row) => ({ ...row, status: statusOf(row, now_ms) }));
      console.log(json === true ? JSON.stringify(listed, null, 2) : table(listed));
    });
}

function registerRevoke(keys: Command): void {
  keys
    .command('revoke')
    .description('refuse a key from now on; a running server notices by itself')
    .argument('<id>', 'the 12 characters after fm_, as keys list shows them')
    .addOption(fileOption())
    .addHelpText('after', '\nExample:\n  facematch keys revoke 4fQ0ZtXy81Ab')
    .action(async (id: string, _options, command: Command) => {
      checkId(id, command);
      const { editKeyFile } = await import('../gate/key-file.ts');
      const { revoke } = await import('../gate/key-edits.ts');
      const { record } = editKeyFile(fileOf(command), (records) => revoke(records, id, Date.now()));
      console.error(`The key ${describe(record)} is revoked since ${record.revoked_at}.`);
    });
}

function registerRotate(keys: Command): void {
  keys
    .command('rotate')
    .description('make a new key with the settings of an old one, and revoke the old one')
    .argument('<id>', 'the old key: the 12 characters after fm_')
    .option('--grace <duration>', 'let the old key work for this long (1h, 7d)', parse.parseDuration, 0)
    .addOption(fileOption())
    .addHelpText(
      'after',
      `
The new key goes to standard output alone. A key that expires gets the same lifetime again, from now.

Examples:
  facematch keys rotate 4fQ0ZtXy81Ab
  facematch keys rotate 4fQ0ZtXy81Ab --grace 1h`,
    )
    .action(async (id: string, { grace }: { grace: number }, command: Command) => {
      checkId(id, command);
      const { editKeyFile } = await import('../gate/key-file.ts');
      const { rotate } = await import('../gate/key-edits.ts');
      const file = fileOf(command);
      const { key, record, retired } = editKeyFile(file, (records) => rotate(records, id, Date.now(), grace));
      console.error(`Made the key ${describe(record)} in ${file}.`);
      const verb = grace > 0 ? 'works until' : 'is revoked since';
      console.error(`The old key ${describe(retired)} ${verb} ${retired.revoked_at}.`);
      hand(key);
    });
}

function fileOption(): Option {
  return new Option('--file <path>', 'the key file').env('FACEMATCH_KEYS_FILE').default(defaultFile);
}

/** An empty variable counts as unset, as it does for the server; an empty option is a mistake. */
function fileOf(command: Command): string {
  const { file } = command.opts<{ file: string }>();
  if (file.trim() !== '') return file;
  if (command.getOptionValueSource('file') === 'env') return defaultFile;
  return command.error("error: option '--file <path>' expects the path of the key file");
}

/** Here and not in an argument parser, because commander repeats what it was given: it may be a whole key. */
function checkId(id: string, command: Command): void {
  if (!isKeyId(id))
    command.error('error: expected for <id> the 12 letters and digits between fm_ and the next _');
}

/** The key on standard output; what to do with it on standard error. */
function hand(key: string): void {
  console.error('Keep it now, it is not shown again. Send it in the x-api-key header.');
  console.log(key);
}

function describe({ id, name }: Pick<KeyRecord, 'id' | 'name'>): string {
  return `${id} ("${name}")`;
}

const columns = [
  'id',
  'name',
  'status',
  'scopes',
  'rate',
  'burst',
  'created_at',
  'expires_at',
  'revoked_at',
  'note',
];

/** Columns that no key uses are left out. */
function table(rows: readonly object[]): string {
  if (rows.length === 0) return 'There are no keys.';
  const cells = rows.map((row) => columns.map((column) => String(row[column as keyof typeof row] ?? '')));
  const used = columns.map((_, at) => at).filter((at) => cells.some((row) => row[at] !== ''));
  const widths = columns.map((title, at) => Math.max(title.length, ...cells.map((row) => row[at]!.length)));
  const line = (row: readonly string[]) =>
    used
      .map((at) => row[at]!.padEnd(widths[at]!))
      .join('  ')
      .trimEnd();
  return [line(columns), ...cells.map(line)].join('\n');
}
