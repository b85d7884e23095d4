import { holdSignals } from '../server/signals.ts';

// First, and all else after it: loading it takes a moment, in which a signal may come.
if (process.argv[2] === 'serve') holdSignals();

const { run } = await import('./run.ts');
process.exitCode = await run(process.argv);
