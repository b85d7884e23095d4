import type { CommandNode, OptionNode } from '../command-tree.ts';

/** A command as it is completed: `help` with the names that it explains is a command as well. */
export interface Completed extends Pick<CommandNode, 'path' | 'name' | 'description' | 'arguments'> {
  options: readonly OptionNode[];
  commands: readonly Completed[];
}

export function withHelp(node: CommandNode): Completed {
  const commands: Completed[] = node.commands.map(withHelp);
  if (commands.length > 0) {
    const explained = commands.map(({ name }) => name);
    commands.push({
      path: `${node.path} help`,
      name: 'help',
      description: 'display help for a command',
      arguments: [{ term: '[command]', description: 'the command', variadic: false, value: explained }],
      options: [],
      commands: [],
    });
  }
  return { ...node, commands };
}

/** The command and all below it. */
export function everyCompleted(node: Completed): Completed[] {
  return [node, ...node.commands.flatMap(everyCompleted)];
}
