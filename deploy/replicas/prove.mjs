// Proves what docs/replicas.md says, on real programs: Debian's redis-server and nginx, and three replicas of the server.
//   deploy/prove-replicas [--quick] [--only limits] [--seconds 20] [--json]
// --quick    short phases, and only what holds on a machine of any speed: a minute becomes seconds
// --only     one of limits, kill, redis, rolling, throughput
// --seconds  length of a phase
// Needs a build (npm run setup), redis-server and nginx (apt-get install redis-server nginx).
import { endOnSignals } from '../../test/support/programs.mjs';
import { flags, progress, report } from '../../test/support/report.mjs';
import { Cluster } from './cluster.mjs';
import { proveKill, proveLimits, proveRedisLoss, proveRolling, proveThroughput } from './proofs.mjs';

endOnSignals();
const options = flags({ quick: false, only: '', seconds: 20, json: false });
const seconds = options.quick ? Math.min(options.seconds, 2) : options.seconds;

/** Name for --only, what is said of it meanwhile, and the proof. */
const all = [
  ['limits', 'limits', proveLimits],
  ['kill', 'a killed and a restarted replica', proveKill],
  ['redis', 'Redis killed and restarted', proveRedisLoss],
  ['rolling', 'a rolling replacement', proveRolling],
  ['throughput', 'throughput', proveThroughput],
];
const proofs = all.filter(([name]) =>
  options.only === '' ? !(options.quick && name === 'throughput') : name === options.only,
);
if (proofs.length === 0) throw new Error(`--only: one of ${all.map(([name]) => name).join(', ')}`);

const facts = {};
const claims = [];
const cluster = await Cluster.start();
try {
  for (const [, title, prove] of proofs) {
    progress(title);
    const proof = await prove(cluster, { seconds, quick: options.quick });
    Object.assign(facts, proof.facts);
    claims.push(...proof.claims);
  }
} finally {
  await cluster.stop();
}
progress('');
report({ title: 'Three replicas behind nginx, limits in Redis', facts, claims, json: options.json });
