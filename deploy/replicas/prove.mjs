// Proves what docs/replicas.md says, on real programs: Debian's redis-server and nginx, and three replicas of the server.
//   deploy/prove-replicas [--quick] [--only limits] [--seconds 20] [--json]
// --quick    short phases, and no comparison of throughput: a minute becomes seconds
// --only     one of limits, kill, redis, rolling, throughput
// --seconds  length of a phase
// Needs a build (npm run setup), redis-server and nginx (apt-get install redis-server nginx).
import { flags, progress, report } from '../../bench/lib/report.mjs';
import { Cluster } from './cluster.mjs';
import { proveLimits } from './limits.mjs';
import { proveKill, proveRedisLoss, proveRolling } from './losses.mjs';
import { proveThroughput } from './throughput.mjs';

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
