// Proves what docs/replicas.md says, on real programs: Debian's redis-server and nginx, and three replicas of the server.
//   deploy/prove-replicas [--quick] [--seconds 20] [--json]
// --quick    short phases, and no comparison of throughput: a minute becomes seconds
// --seconds  length of a phase
// Needs a build (npm run setup), redis-server and nginx (apt-get install redis-server nginx).
import { flags, progress, report } from '../../bench/lib/report.mjs';
import { Cluster } from './cluster.mjs';
import { proveLimits } from './limits.mjs';
import { proveKill, proveRedisLoss, proveRolling } from './losses.mjs';
import { proveThroughput } from './throughput.mjs';

const options = flags({ quick: false, seconds: 20, json: false });
const seconds = options.quick ? Math.min(options.seconds, 2) : options.seconds;

const proofs = [
  ['limits', proveLimits],
  ['a killed and a restarted replica', proveKill],
  ['Redis killed and restarted', proveRedisLoss],
  ['a rolling replacement', proveRolling],
  ...(options.quick ? [] : [['throughput', proveThroughput]]),
];

const facts = {};
const claims = [];
const cluster = await Cluster.start();
try {
  for (const [name, prove] of proofs) {
    progress(name);
    const proof = await prove(cluster, { seconds, quick: options.quick });
    Object.assign(facts, proof.facts);
    claims.push(...proof.claims);
  }
} finally {
  await cluster.stop();
}
progress('');
report({ title: 'Three replicas behind nginx, limits in Redis', facts, claims, json: options.json });
