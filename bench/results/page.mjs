// docs/benchmarks.md and docs/scaling.md out of the results of one run: no number in them is typed.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../lib/paths.mjs';
import { figuresOf } from './figures.mjs';
import { plots } from './plots.mjs';
import { scalingText } from './scaling.mjs';
import { besideFigures, blocksOf, figureTable, floorTable, loadTable, markdown } from './tables.mjs';

const alt = {
  'throughput.svg': 'Requests a second of each contender',
  'latency.svg': 'Latency by number of clients',
  'cpu.svg': 'CPU time of a request by part',
};

function blockSections({ samples, contenders, scenarios, checks }) {
  const titles = Object.fromEntries(Object.entries(contenders).map(([name, { title }]) => [name, title]));
  const what = {
    workers: 'facematch with one worker and with two; two JPEGs of 250 pixels, mode fast.',
    steady:
      'Server and generator on CPUs of their own, with as many workers as the server has CPUs; first as many requests as it can answer, then 70 % of them at a fixed rate, where latency counts from when a request was due.',
  };
  return blocksOf(samples).flatMap((block) => {
    const table = loadTable(samples, block, titles);
    if (table.rows.length === 0) return [];
    const asked = checks
      .filter((one) => one.block === block && one.asked > 0)
      .map((one) => `${titles[one.contender]} ${one.right} of ${one.asked}`);
    const about = what[block] ?? `${scenarios[block.split(' ')[0]] ?? block}.`;
    const answers = asked.length > 0 ? ` Pairs answered rightly before the load: ${asked.join(', ')}.` : '';
    return [`### ${block}`, `${about.charAt(0).toUpperCase()}${about.slice(1)}${answers}`, markdown(table)];
  });
}

/** The page's text. `drawn` are the names of the plots that there are. */
export function pageText(results, drawn) {
  const { environment, options, contenders, pictures, samples } = results;
  // Not those that were computed when it was measured: the samples are what counts.
  const figures = figuresOf(samples);
  const { commit, cpu, memory_gib, node, date } = environment;
  const missed = figures.filter(({ why }) => why).map(({ what, why }) => `- ${what}: ${why}.`);
  const beside = besideFigures(figures).map(([what, name, value]) => `- ${what}: ${name} **${value}**`);
  const how = Object.values(contenders).map(({ title, how: text, versions }) => [
    title,
    text,
    Object.entries(versions)
      .map((pair) => pair.join(' '))
      .join(', '),
  ]);
  const image = (name) => (drawn.includes(name) ? [`![${alt[name]}](benchmarks/${name})`] : []);
  return `${[
    '# Benchmarks',
    '<!-- Made by `npm run bench -- --report` out of docs/benchmarks/results.json. -->',
    `Measured on ${date}: commit ${commit}, ${cpu}, ${memory_gib} GiB, Node ${node}. ${options.rounds} rounds of fresh processes, in each of them ${options.turns} turns of ${options.seconds} s for what is compared, one contender right after the other, their order rotated; medians, with the lowest and highest turn in brackets. ` +
      'Server and generator share the CPUs unless it says otherwise, so compare within one table only: absolute numbers wander with the machine, ratios of one run much less. ' +
      '“A/A noise” is the same figure between two runs of facematch itself. Repeat it with `npm run bench`.',
    '## Figures to reach',
    markdown(figureTable(figures)),
    ...(missed.length > 0 ? ['Missed, and why:', missed.join('\n')] : []),
    ...(beside.length > 0 ? ['Beside them:', beside.join('\n')] : []),
    ...image('throughput.svg'),
    ...image('latency.svg'),
    ...image('cpu.svg'),
    '## Contenders',
    `Each in a fresh process with ${options.workers} workers. Peers compare only the largest face of each picture; facematch compares them all.`,
    markdown({ head: ['contender', 'how', 'versions'], rows: how }),
    '## What the machine allows',
    'The native pipeline in a loop on as many threads, without HTTP and Node; its nets by themselves; and the decoding of both pictures by libjpeg-turbo at the smallest scale that leaves the detector and the largest face their pixels.',
    markdown(floorTable(samples)),
    '## Every measurement',
    `Pictures: ${Object.entries(pictures)
      .map(([kind, source]) => `${kind} from ${source}`)
      .join(
        ', ',
      )}. CPU time is that of the server’s process tree, memory that of a process which has carried the tables before as well; “other answers” are those with another status than expected.`,
    ...blockSections(results),
  ].join('\n\n')}\n`;
}

/** Writes page, plots and the results that they are made from. Answers the paths. */
export function writePage(file) {
  const text = readFileSync(file, 'utf8');
  const results = JSON.parse(text);
  const folder = join(root, 'docs/benchmarks');
  const drawn = Object.entries(plots)
    .map(([name, draw]) => [name, draw(results)])
    .filter(([, svg]) => svg !== undefined);
  // Whole before anything is replaced: `file` may lie in the folder.
  const page = pageText(
    results,
    drawn.map(([name]) => name),
  );
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const written = [
    [join(root, 'docs/benchmarks.md'), page],
    [join(root, 'docs/scaling.md'), scalingText(results)],
    [join(folder, 'results.json'), text],
    ...drawn.map(([name, svg]) => [join(folder, name), svg]),
  ];
  for (const [path, content] of written) writeFileSync(path, content);
  return written.map(([path]) => path);
}
