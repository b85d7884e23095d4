import { surveySettings } from '../../config.ts';
import { RedisClient } from '../../gate/redis-client.ts';
import { type Finding, firstLine, ok, warning } from './finding.ts';

const what = 'limiter';

/**
 * Whether the Redis that replicas share can be reached, logged in to and written. A warning where not: a server would
 * start, and count by itself.
 */
export async function limiter(): Promise<Finding[]> {
  const address = surveySettings().config.limiter;
  if (address === 'local') return [ok(what, 'local: each server counts by itself')];
  try {
    const client = await RedisClient.open(address);
    const version = await client.version();
    client.close();
    return [ok(what, `${address} answers${version === undefined ? '' : `, Redis ${version}`}`)];
  } catch (error) {
    const reason = firstLine(error);
    const cure = cures.find(([pattern]) => pattern.test(reason))?.[1] ?? 'See docs/replicas.md';
    return [warning(what, `${address}: ${reason}; servers would count by themselves`, cure)];
  }
}

const correct = 'Correct FACEMATCH_LIMITER';

/** What Redis or the connection complains about → what mends it. */
const cures: readonly (readonly [complaint: RegExp, cure: string])[] = [
  [/^(WRONGPASS|NOAUTH|ERR AUTH|ERR invalid password)/, `${correct}: its user and password`],
  [/^ERR DB index/, `${correct}: the number of its database`],
  [/^NOPERM/, 'Give this user the rights that docs/replicas.md lists'],
  [/^READONLY|^MOVED/, `${correct}: it must name a node that takes writes`],
  [/^LOADING/, 'Wait until Redis has loaded its data'],
  [/^OOM/, 'Give Redis more memory, or a policy that evicts'],
  [
    /certificate|altnames/,
    'Set NODE_EXTRA_CA_CERTS to the file of the authority that signed its certificate',
  ],
  [/ENOTFOUND|EAI_AGAIN/, `${correct}: its host`],
  [
    /ECONNREFUSED|no answer|closed|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/,
    `Start Redis, or correct its address in FACEMATCH_LIMITER`,
  ],
];
