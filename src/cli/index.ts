import { cureOf } from '../config/machine.ts';
import { holdSignals } from '../server/signals.ts';

// Imported before everything else, because loading the rest takes a moment in which a signal may arrive.
if (process.argv[2] === 'serve') holdSignals();

try {
  const { run } = await import('./program.ts');
  process.exitCode = await run(process.argv);
} catch (error) {
  // Loading the program opens many files at once.
  const cure = cureOf(error);
  if (cure === undefined) throw error;
  console.error(`error: ${(error as Error).message}. ${cure}`);
  process.exitCode = 1;
}
