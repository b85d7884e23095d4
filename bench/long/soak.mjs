// Checks that memory stays constant under valid requests with mixed image sizes and formats, in both modes, to two
// endpoints. After each tenth of the run (for the first time after at most 2,000 requests), the clients pause until no
// request is in flight, and then for `rest_s` seconds. The resident memory in these pauses is compared.
import { setTimeout } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { content_type, form } from '../../test/support/load.mjs';
import { portraits } from '../../test/support/portraits.mjs';
import { memoryOf, startServer } from '../../test/support/programs.mjs';
import { Random } from '../../test/support/random.mjs';
import { claim, marksOf, mib, percent, progress } from '../../test/support/report.mjs';

export const defaults = { requests: 20_000, seed: 1 };
const [clients, workers, rest_s] = [6, 2, 5];
const max_growth = 0.03;

/** Image sizes with their weights: mostly small, and a few directly from a camera. */
const sizes = [
  [{ width: 250, height: 250 }, 60],
  [{ width: 640, height: 480 }, 28],
  [{ width: 1280, height: 960 }, 9],
  [{ width: 2048, height: 1536 }, 2.5],
  [{ width: 4000, height: 3000 }, 0.5],
];
const formats = { jpeg: 70, png: 20, webp: 10 };
/** Each size in each format, with its weight. Excludes large PNGs, which exceed max_image_bytes. */
const imageSizes = sizes
  .flatMap(([size, share]) =>
    Object.entries(formats).map(([format, weight]) => [{ ...size, format }, share * weight]),
  )
  .filter(([{ width, format }]) => !(format === 'png' && width > 2048));

export async function prove({ requests, seed, json }) {
  /** Number of requests after which caches, arenas and compiled code no longer grow. */
  const settled = Math.min(2000, Math.floor(requests / 10));
  const server = await startServer({ env: { FACEMATCH_WORKERS: String(workers) } });
  const agent = new Agent({ connections: clients, pipelining: 1 });
  const images = await portraits(imageSizes.map(([variant]) => variant));
  const statuses = {};

  function imageFor(random) {
    const { width, format } = random.weighted(imageSizes);
    return random.pick(images.filter((one) => one.width === width && one.format === format)).bytes;
  }

  async function ask(index) {
    const random = Random.at(seed, index);
    const advanced = random.chance(0.5);
    const mode = random.chance(0.5) ? 'fast' : 'balance';
    const fields = { image1: imageFor(random), image2: imageFor(random) };
    const response = await request(
      `${server.origin}/API/v1.0/face/match/upload${advanced ? '/advanced' : ''}`,
      {
        method: 'POST',
        dispatcher: agent,
        headers: { 'x-api-key': server.key, 'content-type': content_type },
        body: form(advanced ? { ...fields, accuracy_mode: mode } : fields),
      },
    );
    await response.body.dump();
    statuses[response.statusCode] = (statuses[response.statusCode] ?? 0) + 1;
  }

  const started = performance.now();
  const rss = [];
  let next = 0;
  for (const mark of marksOf(requests, settled, 10)) {
    const client = async () => {
      while (next < mark) {
        const index = next++;
        await ask(index);
        if (index % 100 === 0) progress(`${index} requests, ${mib(memoryOf(server.pid))} MiB`);
      }
    };
    await Promise.all(Array.from({ length: clients }, client));
    const under_load_mib = mib(memoryOf(server.pid));
    await setTimeout(rest_s * 1000);
    rss.push({ requests: mark, under_load_mib, at_rest_mib: mib(memoryOf(server.pid)) });
    progress('');
    if (!json)
      console.log(
        `${mark} requests: ${rss.at(-1).at_rest_mib} MiB at rest, ${under_load_mib} MiB under load`,
      );
  }
  const seconds = (performance.now() - started) / 1000;
  const peak_mib = mib(memoryOf(server.pid, 'VmHWM'));
  await agent.close();
  const { code, signal } = await server.stop();

  const first = rss[0].at_rest_mib;
  const last = rss.at(-1).at_rest_mib;
  const growth = last / first - 1;
  const largest = Math.max(...rss.map((mark) => mark.at_rest_mib)) / first - 1;
  const target = `at most ${percent(max_growth)}`;
  return {
    title: `Soak: ${requests} valid requests, ${clients} clients, ${workers} workers`,
    facts: {
      ...{ seed, seconds: Math.round(seconds), images: images.length, rss, peak_mib },
      requests_per_second: Math.round(requests / seconds),
    },
    claims: [
      claim(
        'every request gets 200',
        JSON.stringify(statuses),
        `${requests} × 200`,
        statuses[200] === requests,
      ),
      claim(
        `growth of RSS at rest after the first ${settled} requests`,
        `${first} to ${last} MiB, ${percent(growth)}`,
        target,
        growth <= max_growth,
      ),
      claim('maximum growth of RSS in any pause', percent(largest), target, largest <= max_growth),
      claim('the server exits on SIGTERM', signal ?? `exit ${code}`, 'exit 0', code === 0),
    ],
  };
}
