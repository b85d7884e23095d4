import { Argument, type Command, type Option } from 'commander';
import { addHelp, subcommands } from './help.ts';

/**
 * Shell completion: at the tab key the shell calls `facematch complete -- WORD…`, where the last word is the one at the cursor,
 * and offers the lines of its output. The lines :files and :folders stand for the shell's own completion.
 */
const scripts = {
  bash: `# Completion of facematch for bash 4 or later, made by: facematch completion bash
_facematch() {
  mapfile -t COMPREPLY < <(facematch complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  # For files, readline completes by itself, because it knows ~ and variables.
  case \${COMPREPLY[0]-} in
    :files) COMPREPLY=(); compopt -o default ;;
    :folders) COMPREPLY=(); compopt -o dirnames ;;
  esac
}
complete -F _facematch facematch
`,
  zsh: `#compdef facematch
# Completion of facematch for zsh, made by: facematch completion zsh
_facematch() {
  local -a offers=(\${(f)"$(facematch complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  # In --mode=fast and NAME=FILE:FOLDER, complete only the part after the last sign.
  compset -P '*[=:]'
  case $offers[1] in
    :files) _files ;;
    :folders) _files -/ ;;
    *) compadd -a offers ;;
  esac
}
if [[ $funcstack[1] == _facematch ]]; then
  _facematch "$@"
else
  compdef _facematch facematch
fi
`,
  fish: `# Completion of facematch for fish 3 or later, made by: facematch completion fish
function __facematch_offers
  set -l word (commandline -ct)
  set -l offers (facematch complete -- (commandline -opc)[2..-1] "$word" 2>/dev/null)
  # In --mode=fast the whole word is offered.
  set -l before (string match -r -- '^--[^=]*=' "$word"; or echo '')
  set -l after (string replace -r -- '^--[^=]*=' '' "$word")
  switch "$offers[1]"
    case :files
      set offers (__fish_complete_path "$after")
    case :folders
      set offers (__fish_complete_directories "$after" '')
  end
  for offer in $offers
    echo $before$offer
  end
end
complete -c facematch -f -a '(__facematch_offers)'
`,
} as const;

type Shell = keyof typeof scripts;

export function registerCompletion(program: Command): void {
  const shells = Object.keys(scripts);
  const command = program
    .command('completion')
    .description("print a script for a shell's completion of commands, options, choices and files")
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .action((shell: Shell) => {
      process.stdout.write(scripts[shell]);
    });
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action((words: string[]) => {
      for (const offer of offersFor(program, words)) console.log(offer);
    });
  addHelp(command, {
    notes: `To have it in every shell from now on:
  bash   in ~/.bashrc:  source <(facematch completion bash)
         or, with the package bash-completion, in ~/.local/share/bash-completion/completions/facematch
  zsh    in ~/.zshrc, below compinit:  source <(facematch completion zsh)
         or in a file _facematch of a folder that $fpath names
  fish   in ~/.config/fish/completions/facematch.fish

It completes the word facematch, not npx. Where that is no command yet: npm link, run once in the project's folder.`,
    examples: [
      'source <(facematch completion bash)',
      'facematch completion zsh > ~/.zfunc/_facematch',
      'facematch completion fish > ~/.config/fish/completions/facematch.fish',
    ],
  });
}

/** Lines for the shell: completions of the last of the words that were typed after the program's name. */
export function offersFor(program: Command, typed: readonly string[]): readonly string[] {
  // --mode=fast is one word in zsh and fish; in bash it is three, because = and : end words there.
  const words = typed.flatMap((word) => (/^--[^=]+=/.test(word) ? word.split(/=(.*)/s, 2) : [word]));
  const last = words.pop() ?? '';
  let command = program;
  let option: Option | undefined;
  let ended = false;
  for (const word of words.filter((word) => word !== '=')) {
    if (option !== undefined) option = undefined;
    else if (word === '--') ended = true;
    else if (word.startsWith('-') && !ended)
      option = command.options.find(({ required, short, long }) => required && [short, long].includes(word));
    else command = subcommands(command).find((child) => child.name() === word) ?? command;
  }
  const start = /^[=:]$/.test(last) ? '' : last;
  let offers = argumentsOf(command);
  if (option !== undefined) offers = valuesOf(/<([\w-]+)/.exec(option.flags)?.[1], option.argChoices);
  else if (start.startsWith('-') && !ended) {
    offers = [...command.options.flatMap(({ long }) => long ?? []), '--help'];
  }
  return offers.filter((offer) => offer.startsWith(':') || offer.startsWith(start));
}

function argumentsOf(command: Command): readonly string[] {
  const children = subcommands(command);
  if (children.length > 0) return [...children.map((child) => child.name()), 'help'];
  // Every argument of a command takes the same kind of value.
  const [argument] = command.registeredArguments;
  return valuesOf(argument?.name(), argument?.argChoices);
}

/** Placeholders for a path; for `set`, NAME=PAIRS.tsv:FOLDER, it is the part after the sign. */
const filePlaceholders = ['image', 'reference', 'candidate', 'out', 'path', 'set'];

function valuesOf(placeholder = '', choices?: readonly string[]): readonly string[] {
  if (choices !== undefined) return choices;
  if (placeholder === 'dir') return [':folders'];
  return filePlaceholders.includes(placeholder) ? [':files'] : [];
}
