import type { Value } from '../command-tree.ts';
import { type Completed, everyCompleted } from './completed.ts';
import { fishQuote } from './quote.ts';

/** For fish 3 or later. */
export function fishScript(program: Completed): string {
  const all = everyCompleted(program);
  const paths = all.slice(1).map(({ path }) => fishQuote(path));
  return `# Completion of facematch for fish, made by: facematch completion fish

# Whether the words before the cursor lead to this command.
function __facematch_at
  set -l at facematch
  for word in (commandline -opc)[2..-1]
    contains -- "$at $word" ${paths.join(' ')}
    and set at "$at $word"
  end
  test "$at" = "$argv"
end

complete -c facematch -f
${all.flatMap(linesOf).join('\n')}
`;
}

function linesOf(command: Completed): string[] {
  const start = `complete -c facematch -n ${fishQuote(`__facematch_at ${command.path}`)}`;
  const commands = command.commands.map(
    ({ name, description }) => `${start} -a ${name} -d ${fishQuote(description)}`,
  );
  const options = command.options.map(({ short, long, description, value }) =>
    [
      start,
      ...(short === undefined ? [] : [`-s ${short.slice(1)}`]),
      `-l ${long.slice(2)}`,
      ...(value === undefined ? [] : [taking(value)]),
      `-d ${fishQuote(description)}`,
    ].join(' '),
  );
  // Every argument of a command takes the same kind of value.
  const value = command.arguments[0]?.value ?? 'text';
  const values = value === 'text' ? [] : [`${start} ${offer(value)}`];
  return [...commands, ...options, ...values];
}

/** An option that has to have a value. */
function taking(value: Value): string {
  return value === 'text' ? '-x' : `-r ${offer(value)}`;
}

function offer(value: Exclude<Value, 'text'>): string {
  if (value === 'file') return '-F';
  return value === 'folder' ? "-f -a '(__fish_complete_directories)'" : `-f -a ${fishQuote(value.join(' '))}`;
}
