import type { Command } from 'commander';
import { addHelp } from './help.ts';

export function registerServe(program: Command): void {
  const command = program
    .command('serve')
    .description('answer over HTTP until stopped')
    .action(async () => {
      const { preflight } = await import('./system-requirements.mjs');
      const unfit = preflight();
      if (unfit !== undefined) throw new Error(unfit);
      const { main } = await import('../main.ts');
      await main();
    });
  addHelp(command, {
    notes: `Configured through the environment or a file (facematch config shows all); the most common:
  FACEMATCH_HOST, FACEMATCH_PORT   where it listens (127.0.0.1, 8080)
  FACEMATCH_ADMIN_PORT             health, readiness and metrics (9090)
  FACEMATCH_KEYS_FILE              API keys (./keys.json)
  FACEMATCH_WORKERS                worker threads (CPU quota)
  FACEMATCH_PACK                   model pack (default)
  FACEMATCH_TLS_CERT, …_TLS_KEY    PEM files, for HTTPS
  FACEMATCH_CONFIG                 JSON file of such settings

The log goes to standard error, one JSON object a line; standard output says where it listens.
SIGTERM or SIGINT lets running requests finish; a second signal ends it at once.`,
    examples: ['facematch serve', 'FACEMATCH_HOST=0.0.0.0 FACEMATCH_WORKERS=4 facematch serve'],
  });
}
