import type { OptionNode, Value } from '../command-tree.ts';
import { type Completed, everyCompleted } from './completed.ts';
import { quote } from './quote.ts';

/** To be sourced below compinit, or put on fpath under the name _facematch. */
export function zshScript(program: Completed): string {
  const functions = everyCompleted(program).map(commandFunction).join('\n');
  return `#compdef facematch
# Completion of facematch for zsh, made by: facematch completion zsh

${functions}
if [[ $funcstack[1] == _facematch ]]; then
  _facematch "$@"
else
  compdef _facematch facematch
fi
`;
}

function commandFunction(command: Completed): string {
  const { commands } = command;
  const specs = [...command.options.map(optionSpec), ...argumentSpecs(command)].map(
    (spec) => ` \\\n    ${spec}`,
  );
  if (commands.length === 0) return `${functionOf(command)}() {\n  _arguments${specs.join('')}\n}\n`;
  const names = commands.map(({ name, description }) => quote(`${colons(name)}:${description}`));
  const calls = commands.map((child) => `        ${child.name}) ${functionOf(child)} ;;`);
  return `${functionOf(command)}() {
  local curcontext="$curcontext" state line
  typeset -A opt_args
  _arguments -C${specs.join('')}
  case $state in
    command)
      local -a commands=(
        ${names.join('\n        ')}
      )
      _describe command commands
      ;;
    rest)
      case $words[1] in
${calls.join('\n')}
      esac
      ;;
  esac
}
`;
}

/** "facematch keys create" → _facematch_keys_create */
function functionOf({ path }: Completed): string {
  return `_${path.replaceAll(' ', '_')}`;
}

function optionSpec({ short, long, description, value }: OptionNode): string {
  const told = `[${brackets(description)}]`;
  const taken = value === undefined ? '' : `:${long.slice(2)}:${action(value)}`;
  // Both names exclude each other; a long option also takes its value after =.
  const longForm = value === undefined ? long : `${long}=`;
  if (short === undefined) return quote(`${longForm}${told}${taken}`);
  return `'(${short} ${long})'{${short},${longForm}}${quote(`${told}${taken}`)}`;
}

function argumentSpecs({ commands, arguments: args }: Completed): string[] {
  if (commands.length > 0) return ["'1: :->command'", "'*:: :->rest'"];
  return args.map(({ description, variadic, value }, at) =>
    quote(`${variadic ? '*' : at + 1}:${colons(description)}:${action(value)}`),
  );
}

function action(value: Value): string {
  if (value === 'file') return '_files';
  if (value === 'folder') return '_files -/';
  return value === 'text' ? ' ' : `(${value.join(' ')})`;
}

/** A description within brackets of a spec. */
function brackets(text: string): string {
  return colons(text).replaceAll('[', '\\[').replaceAll(']', '\\]');
}

function colons(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll(':', '\\:');
}
