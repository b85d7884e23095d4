import type { Command } from 'commander';
import { addHelp, exitCodes } from '../help.ts';
import { type LabCommands, labCommand } from '../laboratory.ts';

export function registerPacks(program: Command, lab: LabCommands | undefined): void {
  const packs = program.command('packs').description('list, add, pull and check model packs');
  registerList(packs);
  labCommand('add')(packs, lab);
  labCommand('pull')(packs, lab);
  registerCheck(packs);
  addHelp(packs, {
    notes: 'A server loads the pack in FACEMATCH_PACK. docs/packs.md has recipes for published models.',
    examples: [
      'facematch packs list',
      'facematch packs add mine --embedder net.onnx',
      'facematch packs pull sface',
      'facematch packs check mine',
    ],
  });
}

interface JsonOption {
  json?: true;
}

function registerList(packs: Command): void {
  const command = packs
    .command('list')
    .description('list the installed packs: models, licences, hashes and calibration')
    .option('--json', 'print JSON with full hashes')
    .action(async ({ json }: JsonOption) => {
      const { describeListed, listPacks } = await import('./list.ts');
      const { coloursFor } = await import('../terminal.ts');
      const found = await listPacks();
      if (json) console.log(JSON.stringify(found, null, 2));
      else for (const pack of found) console.log(describeListed(pack, coloursFor('stdout')));
    });
  addHelp(command, { examples: ['facematch packs list'] });
}

function registerCheck(packs: Command): void {
  const command = packs
    .command('check')
    .description(
      'load a pack, compare the sample photos, measure its time against the default pack, and report what is missing',
    )
    .argument('<name>', 'name of the pack, or a path such as ./mine')
    .option('--json', 'print the results as JSON')
    .action(async (name: string, { json }: JsonOption) => {
      const { checkPack } = await import('./check.ts');
      const { describeFinding } = await import('../doctor/finding.ts');
      const { coloursFor } = await import('../terminal.ts');
      const findings = [];
      for await (const finding of checkPack(name)) {
        findings.push(finding);
        if (!json) console.log(describeFinding(finding, coloursFor('stdout')));
      }
      if (json) console.log(JSON.stringify({ findings }, null, 2));
      if (findings.some(({ status }) => status === 'fail')) process.exitCode = exitCodes.failure;
    });
  addHelp(command, {
    notes:
      'The exit code is 1 if a file, a model or a result on the sample photos fails the check. Missing parts are warnings.',
    examples: ['facematch packs check ./mine'],
  });
}
