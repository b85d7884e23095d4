// Runs long checks against a real server. Prints the claims and results, and exits with 1 if a claim does not hold.
//   node bench/long.mjs soak [--requests 20000] [--seed 1] [--json]
//   node bench/long.mjs overload [--rounds 3] [--seconds 12] [--json]
//   node bench/long.mjs starvation [--rounds 3] [--seconds 10] [--connections 2] [--uploads 100] [--json]
import { endOnSignals } from '../test/support/programs.mjs';
import { flags, report } from '../test/support/report.mjs';

const [name] = process.argv.splice(2, 1);
if (!['soak', 'overload', 'starvation'].includes(name)) {
  process.stderr.write('Expected the name of a check: soak, overload or starvation\n');
  process.exit(2);
}
const { defaults, prove } = await import(`./long/${name}.mjs`);
const options = flags({ ...defaults, json: false });
endOnSignals();
report({ ...(await prove(options)), json: options.json });
