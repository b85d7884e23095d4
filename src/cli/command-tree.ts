import type { Argument, Command, Option } from 'commander';
import { type HelpText, helpOf } from './help-text.ts';

/** Commander's definitions as plain data: what shell completion and docs/command-line.md are made from. */
export interface CommandNode {
  /** As typed, such as "facematch keys create". */
  path: string;
  name: string;
  description: string;
  arguments: readonly ArgumentNode[];
  options: readonly OptionNode[];
  commands: readonly CommandNode[];
  help: HelpText;
}

export interface ArgumentNode {
  /** As usage shows it: `<image...>`, `[image2]`. */
  term: string;
  description: string;
  variadic: boolean;
  value: Value;
}

export interface OptionNode {
  /** As help shows them: `-h, --help`, `--mode <mode>`. */
  flags: string;
  short: string | undefined;
  long: string;
  description: string;
  /** As help shows it, such as `default: 50`. */
  extra: string | undefined;
  required: boolean;
  /** What it takes; undefined for a switch. */
  value: Value | undefined;
}

/** What a value can be completed with: words of a list, names of files or folders, or nothing. */
export type Value = readonly string[] | 'file' | 'folder' | 'text';

/** By the placeholder of an option or an argument: `--draw <out>` takes a file. */
const valueOfPlaceholder: Readonly<Record<string, Exclude<Value, readonly string[]>>> = {
  dir: 'folder',
  duration: 'text',
  id: 'text',
  image: 'file',
  image1: 'file',
  image2: 'file',
  list: 'text',
  name: 'text',
  number: 'text',
  out: 'file',
  path: 'file',
  percent: 'text',
  score: 'text',
  // NAME=PAIRS.tsv:DIR and NAME=FOLDER: the file's part.
  set: 'file',
  text: 'text',
};

/** Throws an Error for a command without examples, and for a placeholder that is not in the table. */
export function commandTree(command: Command, parents = ''): CommandNode {
  const path = `${parents}${command.name()}`;
  const help = command.createHelp();
  return {
    path,
    name: command.name(),
    description: command.description(),
    arguments: command.registeredArguments.map(argumentNode),
    options: help.visibleOptions(command).map((option) => optionNode(option, help.optionDescription(option))),
    commands: command.commands.map((child) => commandTree(child, `${path} `)),
    help: helpOf(command),
  };
}

/** The command and all below it, in the order of help. */
export function everyCommand(node: CommandNode): CommandNode[] {
  return [node, ...node.commands.flatMap(everyCommand)];
}

function argumentNode(argument: Argument): ArgumentNode {
  const { required, variadic, description, argChoices } = argument;
  const dots = variadic ? '...' : '';
  const inner = `${argument.name()}${dots}`;
  return {
    term: required ? `<${inner}>` : `[${inner}]`,
    description,
    variadic,
    value: argChoices ?? placeholderValue(argument.name()),
  };
}

function optionNode(option: Option, described: string): OptionNode {
  const [, placeholder] = /[<[]([\w-]+)/.exec(option.flags) ?? [];
  const { flags, short, long, description, mandatory, argChoices } = option;
  if (long === undefined) throw new Error(`The option ${flags} has no long name`);
  // What commander's help adds to the description, in brackets.
  const extra = described
    .slice(description.length)
    .trim()
    .replace(/^\(|\)$/g, '');
  return {
    flags,
    short,
    long,
    description,
    extra: extra === '' ? undefined : extra,
    required: mandatory,
    value: placeholder === undefined ? undefined : (argChoices ?? placeholderValue(placeholder)),
  };
}

function placeholderValue(placeholder: string): Value {
  const value = valueOfPlaceholder[placeholder];
  if (value === undefined) {
    throw new Error(`What completes <${placeholder}>? Say it in src/cli/command-tree.ts`);
  }
  return value;
}
