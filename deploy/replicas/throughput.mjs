// Do three replicas behind nginx carry what they carry alone on the same cores?
//
// Each replica is bound to a core, and nginx, Redis and the generator to the last one, in every phase. Alone, a replica is
// asked directly while the other two idle. Where k replicas are bound to one core each can have a k-th of it, so the sum
// of what they carry alone on their cores is the sum of (alone ÷ k). Phases alternate, so that a slow moment of the
// machine meets both sides.
import { Load } from '../../bench/lib/load.mjs';
import { cpuSeconds } from './cores.mjs';

const least = 0.95;
const rounds = 3;
/** Two wait at each replica while one is at work. */
const clients = 9;

export async function proveThroughput(cluster, { seconds }) {
  const key = await cluster.key({ rate: 1_000_000, burst: 1_000_000 });
  const { servers, others } = cluster.placement;
  const sharing = servers.map((core) => servers.filter((other) => other === core).length);
  const window = seconds / 4;
  const alone = cluster.replicas.map(() => []);
  const together = [];
  const measureAlone = async (index) =>
    alone[index].push(await measure(cluster, cluster.replicas[index].port, key, window));
  const measureTogether = async () => together.push(await measure(cluster, cluster.nginx.port, key, window));
  await measure(cluster, cluster.nginx.port, key, window);
  for (let round = 0; round < rounds; round++) {
    for (const index of cluster.replicas.keys()) {
      const both = [() => measureAlone(index), measureTogether];
      for (const phase of (round + index) % 2 === 0 ? both : both.reverse()) await phase();
    }
  }
  const sum = alone.reduce((total, phases, index) => total + mean(phases, 'rate') / sharing[index], 0);
  const ratio = mean(together, 'rate') / sum;
  const side = (phases) =>
    `${mean(phases, 'rate').toFixed(1)} requests/s, CPU-ms a request ${mean(phases, 'replicas').toFixed(1)} in replicas (${Math.round(100 * mean(phases, 'used'))} % of one core), ${mean(phases, 'front').toFixed(2)} in nginx and Redis, generator's core ${Math.round(100 * mean(phases, 'busy'))} % busy`;
  return {
    facts: {
      cores: `replicas on ${servers.join(', ')}; nginx, Redis and the generator on ${others}`,
      'three behind nginx': side(together),
      'one alone, directly': side(alone.flat()),
      // The same ratio where other programs take turns on these cores, which gives three processes more than one.
      'by CPU time of replicas': (mean(alone.flat(), 'replicas') / mean(together, 'replicas')).toFixed(3),
    },
    claims: [
      {
        what: 'throughput of three behind nginx ÷ the sum of what each carries alone on the same cores',
        found: `${ratio.toFixed(3)} (${mean(together, 'rate').toFixed(1)} of ${sum.toFixed(1)} requests/s)`,
        limit: `at least ${least}`,
        ok: ratio >= least,
      },
    ],
  };
}

/** Answers 200 a second, and CPU milliseconds for each. */
async function measure({ replicas, nginx, redis, body }, port, key, seconds) {
  const load = new Load({ port, key }, [body]);
  const servers = () => replicas.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0);
  const front = () => cpuSeconds(nginx.pid) + cpuSeconds(redis.pid);
  const own = () => process.cpuUsage();
  const [servers0, front0, own0, start] = [servers(), front(), own(), performance.now()];
  await load.closedLoop(clients, seconds);
  const took = (performance.now() - start) / 1000;
  load.close();
  const answered = load.answers.filter(({ status }) => status === 200).length;
  const { user, system } = process.cpuUsage(own0);
  const front_s = front() - front0;
  return {
    rate: answered / took,
    replicas: (1000 * (servers() - servers0)) / answered,
    used: (servers() - servers0) / took,
    front: (1000 * front_s) / answered,
    busy: ((user + system) / 1e6 + front_s) / took,
  };
}

const mean = (phases, name) => phases.reduce((sum, phase) => sum + phase[name], 0) / phases.length;
