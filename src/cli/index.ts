import { cureOf } from '../config/machine.ts';
import { holdSignals } from '../server/signals.ts';

// Holds signals before the program is imported, because one may arrive while it loads.
if (process.argv[2] === 'serve') holdSignals();

try {
  const { run } = await import('./program.ts');
  process.exitCode = await run(process.argv);
} catch (error) {
  // Loading the program opens many files at once, which may exceed the limit of open files.
  const cure = cureOf(error);
  if (cure === undefined) throw error;
  console.error(`error: ${(error as Error).message}. ${cure}`);
  process.exitCode = 1;
}
