import { constants } from 'node:os';
import { readConfig, unknownVariables } from './config/config.ts';
import { type Server, startServer } from './server/start.ts';
import { type Log, openLog } from './telemetry/telemetry.ts';

/** The process: config → server → signals → exit code. One line goes to standard output, everything else to the log. */
export async function main(): Promise<void> {
  const config = readConfig();
  const log = openLog(config.log_level);
  for (const variable of unknownVariables()) {
    log.logger.warn({ variable }, 'this variable is not a setting and is ignored');
  }
  let server: Server | undefined;
  process.on('uncaughtException', (error) => {
    log.logger.fatal({ fault: error.stack ?? String(error) }, 'uncaught');
    void end(log, 1, server?.flush());
  });
  // Before the start, because a signal may come during it.
  endOnSignals(log, () => server);
  // Without an audit log SIGHUP keeps its default: it ends the process.
  if (config.audit_log !== '') process.on('SIGHUP', () => server?.reopenAuditLog());
  try {
    server = await startServer(config, log);
    if (!(await server.ready)) return;
  } catch (error) {
    await server?.close();
    await log.lines.flush();
    throw error;
  }
  process.stdout.write(`facematch listens on ${server.address} (admin ${server.adminAddress})\n`);
}

function endOnSignals(log: Log, server: () => Server | undefined): void {
  let asked = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (asked) return killSelf(signal);
      asked = true;
      const closed = server()?.close() ?? Promise.resolve(true);
      void closed.then((ended) => end(log, ended ? 0 : undefined));
    });
  }
}

/** `code`: undefined when a worker is in a native call that does not return. `further`: what else has to be written. */
async function end(log: Log, code: number | undefined, further?: Promise<void>): Promise<void> {
  const [written] = await Promise.all([log.lines.flush(), further]);
  if (written && code !== undefined) process.exit(code);
  // process.exit() would wait for that call, or for the thread that is still trying to write the log.
  killSelf('SIGKILL');
}

/** Ends the process at once: process.exit() would wait for native calls in the workers. */
function killSelf(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // Only reached by PID 1 of a container, for which the kernel ignores signals without a handler (pid_namespaces(7)).
  process.exit(128 + constants.signals[signal]);
}
