import type { Value } from '../command-tree.ts';
import { type Completed, everyCompleted } from './completed.ts';
import { quote } from './quote.ts';

/** For bash 4 or later; needs nothing of the package bash-completion. */
export function bashScript(program: Completed): string {
  const all = everyCompleted(program);
  const paths = all.slice(1).map(({ path }) => quote(path));
  const values = all.flatMap(({ path, options }) =>
    options.flatMap(({ value, short, long }) => {
      if (value === undefined) return [];
      const names = [long, ...(short === undefined ? [] : [short])];
      return [`    ${names.map((name) => quote(`${path} ${name}`)).join('|')}) ${offer(value)}; return ;;`];
    }),
  );
  const commands = all.map((command) => {
    const options = command.options.map(({ long }) => long).join(' ');
    return `    ${quote(command.path)}) options=${quote(options)}; ${offerOf(command)} ;;`;
  });
  return `# Completion of facematch for bash, made by: facematch completion bash

_facematch_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }
# Where nothing matches, readline completes by itself: it knows ~ and variables.
_facematch_files() { compopt -o filenames -o default; mapfile -t COMPREPLY < <(compgen -f -- "$cur"); }
_facematch_folders() { compopt -o filenames -o dirnames; mapfile -t COMPREPLY < <(compgen -d -- "$cur"); }

_facematch() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} command=facematch options ended i
  COMPREPLY=()
  # COMP_WORDBREAKS makes words of their own out of = and :, as in --mode=fast and NAME=FILE:FOLDER.
  if [[ $cur == [=:] ]]; then cur=; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD - 2]}; fi

  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command \${COMP_WORDS[i]}" in
      ${paths.join('|')}) command+=" \${COMP_WORDS[i]}" ;;
      *' --') ended=yes ;;
    esac
  done

  [[ $ended ]] || case "$command $prev" in
${values.join('\n')}
  esac
  case $command in
${commands.join('\n')}
  esac
  if [[ $cur == -* && ! $ended ]]; then compopt +o default +o dirnames; _facematch_words "$options"; fi
}
complete -F _facematch facematch
`;
}

function offerOf({ commands, arguments: args }: Completed): string {
  if (commands.length > 0) return offer(commands.map(({ name }) => name));
  // Every argument of a command takes the same kind of value.
  return offer(args[0]?.value ?? 'text');
}

function offer(value: Value): string {
  if (value === 'file') return '_facematch_files';
  if (value === 'folder') return '_facematch_folders';
  return value === 'text' ? ':' : `_facematch_words ${quote(value.join(' '))}`;
}
