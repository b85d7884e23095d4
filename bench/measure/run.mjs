// Carries out a plan: starts each contender, sees that it answers sensibly, loads it, and collects the samples.
import { execFile } from 'node:child_process';
import { isDeepStrictEqual, promisify } from 'node:util';
import { contenders } from '../contenders/index.mjs';
import { kindsIn, scenarios } from '../scenarios/index.mjs';
import { pairsOf } from '../scenarios/pictures.mjs';
import { programs } from '../setup/native.mjs';
import { check } from './check.mjs';
import { apart } from './cores.mjs';
import { Generators } from './generator.mjs';
import { cellsOf, rotated, saturating } from './plan.mjs';
import { floorSample, loadSample } from './sample.mjs';

async function floorWindow({ workers }, { scenario, mode }, { seconds }) {
  const files = (await pairsOf(kindsIn(scenario)[0])).pairs.flatMap((pair) => pair.files);
  const args = ['--mode', mode, '--threads', String(workers), '--seconds', String(seconds), ...files];
  const { stdout } = await promisify(execFile)(programs.floor, args);
  return JSON.parse(stdout);
}

/** The floor is a program that runs while it measures, and is never up. */
const floor = (run, block, options) => ({
  run,
  measure: () => floorWindow(run, block, options),
  async stop() {},
  sampleOf: (windows) => ({ loop: 'floor', ...floorSample(windows) }),
});

/** The servers of a round: each is started when it is first needed, settled, and kept for the blocks after. */
class Servers {
  #options;
  #generators = new Generators();
  #up = new Map();

  constructor(options) {
    this.#options = options;
  }

  async get({ contender, workers: wanted, apart: pinned = false }, { scenario }) {
    const name = [contender, wanted, pinned].join();
    const known = this.#up.get(name);
    if (known) return known;
    const cores = pinned ? apart() : undefined;
    const workers = cores ? Math.min(wanted, cores.room) : wanted;
    const { start, scenarios: fits } = contenders[contender];
    const process = await start({ workers, cores: cores?.server });
    const server = {
      workers,
      pinned,
      load: (job) => {
        const { pid, address, key } = process;
        return this.#generators.load({ ...job, server: { pid, address, key } }, cores?.generator);
      },
      check: (...block) => check(process, ...block),
      stop: async () => {
        this.#up.delete(name);
        await process.stop();
      },
    };
    this.#up.set(name, server);
    const { settle_s, least } = this.#options;
    const cheap = fits.includes('small') ? 'small' : scenario;
    const job = { loop: 'closed', clients: saturating, scenario: cheap, mode: 'fast' };
    await server.load({ ...job, warm_s: settle_s, seconds: 0, least });
    return server;
  }

  async stop() {
    this.#generators.stop();
    await Promise.all([...this.#up.values()].map((server) => server.stop()));
  }
}

/** A contender's server, once it has been seen to answer sensibly; undefined where it does not. */
async function openServer(run, block, options, { servers, checks }) {
  const { scenario, mode, id } = block;
  const server = await servers.get(run, block);
  const known = checks.find((one) => one.contender === run.contender && one.block === id);
  const checked = known ?? {
    ...(await server.check(scenario, mode, options.pairs_checked)),
    contender: run.contender,
    block: id,
  };
  if (known === undefined) checks.push(checked);
  if (!checked.sensible) return undefined;
  const { warm_s, seconds, least } = options;
  const expects = run.contender === 'hello' ? [200] : scenarios[scenario].expects;
  let best = 0;
  const rateOf = ({ share }) => share && Math.max(1, best * share);
  return {
    run,
    measure: (cell) => {
      const { loop, clients } = cell;
      return server.load({ loop, clients, rate: rateOf(cell), scenario, mode, warm_s, seconds, least });
    },
    stop: () => server.stop(),
    sampleOf(windows, cell) {
      const { loop, clients } = cell;
      const sample = loadSample(windows, expects);
      const facts = { loop, clients, rate: rateOf(cell), apart: server.pinned, workers: server.workers };
      best = Math.max(best, sample.requests_per_second);
      return { ...facts, ...sample };
    },
  };
}

/** One round of a block: its contenders are up, and loaded one at a time. `onFailure` is told of those that fall out. */
async function carryOutBlock(block, round, options, { servers, checks, onProgress, onFailure }) {
  let up = [];
  const samples = [];
  const fallOut = ({ contender }, error) => onFailure({ contender, message: error.message });
  for (const run of rotated(block.runs, round)) {
    onProgress(`${run.contender} gets ready`);
    const open = run.contender === 'floor' ? floor : openServer;
    try {
      const subject = await open(run, block, options, { servers, checks });
      if (subject) up.push(subject);
    } catch (error) {
      fallOut(run, error);
    }
  }
  for (const cell of cellsOf(block.runs)) {
    const windows = new Map();
    for (let turn = 0; turn < cell.turns; turn++) {
      const taking = up.filter(({ run }) => run.cells.some((one) => isDeepStrictEqual(one, cell)));
      for (const subject of rotated(taking, round + turn)) {
        onProgress(subject.run.contender);
        try {
          windows.set(subject, [...(windows.get(subject) ?? []), await subject.measure(cell)]);
        } catch (error) {
          fallOut(subject.run, error);
          up = up.filter((one) => one !== subject);
          windows.delete(subject);
          await subject.stop();
        }
      }
    }
    for (const [subject, taken] of windows) {
      const { contender, workers } = subject.run;
      samples.push({ contender, workers, ...subject.sampleOf(taken, cell) });
    }
  }
  return samples;
}

/**
 * Answers { samples, checks, failures }. `onProgress` is told of each contender before it starts or is measured, and
 * `onBlock` gets what there is after each block, so that an hour's work survives its last minute.
 */
export async function carryOut(plan, options, { onProgress = () => {}, onBlock = () => {} }) {
  const results = { samples: [], checks: [], failures: [] };
  for (let round = 0; round < options.rounds; round++) {
    const servers = new Servers(options);
    try {
      for (const block of plan) {
        const { id, scenario, mode } = block;
        const samples = await carryOutBlock(block, round, options, {
          servers,
          checks: results.checks,
          onProgress: (what) => onProgress({ round, block, what }),
          onFailure: (failure) => results.failures.push({ round, block: id, ...failure }),
        });
        results.samples.push(...samples.map((sample) => ({ round, block: id, scenario, mode, ...sample })));
        onBlock(results);
      }
    } finally {
      await servers.stop();
    }
  }
  return results;
}
