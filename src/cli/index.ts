import { limitFix } from '../config/machine.ts';
import { holdSignals } from '../server/signals.ts';

// Signals are held before the import, because one may arrive while the program loads.
if (process.argv[2] === 'serve') holdSignals();

try {
  const { run } = await import('./program.ts');
  process.exitCode = await run(process.argv);
} catch (error) {
  // Loading the program opens many files at once, which may exceed the limit of open files.
  const fix = limitFix(error);
  if (fix === undefined) throw error;
  console.error(`error: ${(error as Error).message}. ${fix}`);
  process.exitCode = 1;
}
