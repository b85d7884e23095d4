import { cureOf } from '../config/machine.ts';
import { holdSignals } from '../server/signals.ts';

// First, and all else after it: loading it takes a moment, in which a signal may come.
if (process.argv[2] === 'serve') holdSignals();

try {
  const { run } = await import('./program.ts');
  process.exitCode = await run(process.argv);
} catch (error) {
  // Many files are open at once while it is loaded.
  const cure = cureOf(error);
  if (cure === undefined) throw error;
  console.error(`error: ${(error as Error).message}. ${cure}`);
  process.exitCode = 1;
}
