import type { Command } from 'commander';
import { commandTree } from '../command-tree.ts';
import { bashScript } from './bash.ts';
import { withHelp } from './completed.ts';
import { fishScript } from './fish.ts';
import { zshScript } from './zsh.ts';

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** A script that the shell sources, made from the program's own definitions. */
export function completionScript(shell: keyof typeof scripts, program: Command): string {
  return scripts[shell](withHelp(commandTree(program)));
}
