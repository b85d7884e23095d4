import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import type { Command } from 'commander';
import { repair } from '../config/installation.mjs';
import { projectPath } from '../config/paths.ts';

/** Commands of the laboratory, a separate and optional package. */

const packageName = '@facematch/lab';

type Register = (parent: Command) => void;

/** Commands that the laboratory exports, by name. `add` and `pull` are subcommands of `packs`. */
export type LabCommands = Readonly<Record<'eval' | 'eval-liveness' | 'calibrate' | 'add' | 'pull', Register>>;

/** Resolves to undefined if the laboratory is not installed. */
export async function openLab(): Promise<LabCommands | undefined> {
  const entry = labEntry();
  if (entry === undefined) return undefined;
  const { commands } = (await import(pathToFileURL(entry).href)) as { commands: LabCommands };
  return commands;
}

/** Returns the entry file of the laboratory; undefined if it is missing. A clone has it in `dist`, like the program. */
function labEntry(): string | undefined {
  const own = projectPath('dist/lab/index.js');
  if (existsSync(own)) return own;
  try {
    return createRequire(import.meta.url).resolve(packageName);
  } catch {
    return undefined;
  }
}

/** Returns a function that registers a command of the laboratory or, without it, one that explains how to install it. */
export function labCommand(name: keyof LabCommands) {
  return (parent: Command, lab: LabCommands | undefined): void => {
    if (lab === undefined) registerAbsent(parent, name);
    else lab[name](parent);
  };
}

function registerAbsent(parent: Command, name: string): void {
  const path = [parent.name(), name].filter((word) => word !== 'facematch').join(' ');
  const command = parent
    .command(name)
    .description(`requires the package ${packageName}, which is not installed`)
    .argument('[words...]')
    .helpOption(false)
    .allowUnknownOption()
    .showHelpAfterError(false)
    .action(() => {
      command.error(
        `error: ${path} requires the package ${packageName}. Install it next to facematch: ${repair('lab')}`,
      );
    });
}
