import { Argument, type Command } from 'commander';
import { addHelp } from './help-text.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

export function registerCompletion(program: Command): void {
  const command = program
    .command('completion')
    .description("print a script for a shell's completion of commands, options, choices and files")
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .action(async (shell: Shell) => {
      const { completionScript } = await import('./completion/script.ts');
      process.stdout.write(completionScript(shell, program));
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
