import type { Command } from 'commander';

export function registerServe(program: Command): void {
  program
    .command('serve')
    .description('answer over HTTP until stopped')
    .addHelpText(
      'after',
      `
Configured through the environment; the most common:
  FACEMATCH_HOST, FACEMATCH_PORT   where it listens (127.0.0.1, 8080)
  FACEMATCH_ADMIN_PORT             health, readiness and metrics (9090)
  FACEMATCH_KEYS_FILE              API keys (./keys.json)
  FACEMATCH_WORKERS                worker threads (CPU quota)
  FACEMATCH_PACK                   model pack (default)

SIGTERM or SIGINT lets running requests finish; a second one ends it at once.`,
    )
    .action(async () => {
      const { main } = await import('../main.ts');
      await main();
    });
}
