import { constants } from 'node:os';
import { readConfig, unknownVariables } from './config/config.ts';
import { loadAddon } from './engine/load-addon.ts';
import { onEndSignals } from './server/signals.ts';
import { type Server, startServer } from './server/start.ts';
import { LineWriter } from './telemetry/line-writer.ts';
import { openLog } from './telemetry/telemetry.ts';

/** Runs the server until a signal ends it. Prints one line to standard output; all other messages go to the log. */
export async function main(): Promise<void> {
  const config = readConfig();
  const log = openLog(config.log_level);
  // process.stdout is not used, because it would block on a reader that has stopped, and throw on a full disk.
  const out = new LineWriter({ dest: 1, onDropped: () => {} });
  for (const variable of unknownVariables()) {
    log.logger.warn({ variable }, 'unknown environment variable is ignored');
  }
  const addon = loadAddon();
  let server: Server | undefined;
  /** Resolves to true if no thread is stuck in a write. */
  const flush = async (): Promise<boolean> => {
    const audit = server?.audit;
    // The audit log closes first, because it logs the number of lost lines.
    await audit?.close();
    const written = await Promise.all([log.lines.flush(), out.flush(), audit?.lines.flush() ?? true]);
    return written.every(Boolean);
  };
  const end = async (code: number, isHung = false): Promise<void> => {
    if ((await flush()) && !isHung) process.exit(code);
    // process.exit() would wait for a native call, or for a thread that is stuck in writing the log.
    addon.endNow(code);
  };
  process.on('uncaughtException', (error) => {
    log.logger.fatal({ error: error.stack ?? String(error) }, 'uncaught exception');
    void end(1);
  });
  onEndSignals(
    async () => {
      // Cancels the SIGTERM that the end of npx would cause, because npx may end before the shutdown is complete.
      addon.endWithParent(0);
      const isClosed = (await server?.close()) ?? true;
      await end(isClosed ? 0 : 1, !isClosed);
    },
    (signal) => {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
      // Only PID 1 of a container continues here, because the kernel ignores its signals without a handler
      // (pid_namespaces(7)).
      addon.endNow(128 + constants.signals[signal]);
    },
  );
  // npx does not forward every signal, so this process ends with npx.
  if (process.env.npm_command === 'exec') addon.endWithParent(process.ppid);
  // Without an audit log, SIGHUP keeps its default action, which ends the process.
  if (config.audit_log !== '') process.on('SIGHUP', () => server?.audit?.lines.reopen());
  try {
    server = await startServer(config, log);
    if (!(await server.ready)) return;
  } catch (error) {
    await server?.close();
    if (!(await flush())) addon.endNow(1);
    throw error;
  }
  out.write(`facematch listens on ${server.url} (admin ${server.adminUrl})\n`);
}
