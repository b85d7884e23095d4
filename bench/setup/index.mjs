// What a run needs beyond the project's own set-up, each made once and kept. Rejects with a SetupError.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { seconds, withProgress } from '../../scripts/lib/progress.mjs';
import { run } from '../../scripts/lib/run.mjs';
import { hashOf, isStamped, writeStamp } from '../../scripts/lib/stamp.mjs';
import { root } from '../lib/paths.mjs';
import { buildNative } from './native.mjs';
import { netsAreThere, prepareNets } from './nets.mjs';
import { buildOpencv, opencvIsBuilt } from './opencv.mjs';

const bench = join(root, 'bench');
const stamp = join(bench, 'node_modules/.bench-stamp');
const packagesHash = () =>
  hashOf([join(bench, 'package-lock.json'), join(bench, '.npmrc')], [process.version, process.arch]);

/** Peers run on packages of the bench's own; facematch and the generator find the project's where those are missing. */
const ownPackages = ['facematch', 'facematch-again', 'facematch-int8', 'floor', 'hello'];
const onPublishedNets = ['do-it-yourself', 'opencv4nodejs'];

const steps = [
  {
    title: 'npm packages of the bench',
    wanted: (names) => names.some((name) => !ownPackages.includes(name)),
    done: () => existsSync(stamp) && isStamped(stamp, packagesHash()),
    async make(onLine) {
      const cure = "npm ci failed. Check the network and npm's registry setting, then try again.";
      await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: bench, cure, onLine });
      writeStamp(stamp, packagesHash());
    },
  },
  {
    title: 'nets as published',
    wanted: (names) => names.some((name) => onPublishedNets.includes(name)),
    done: netsAreThere,
    make: prepareNets,
  },
  {
    title: 'OpenCV for Node (some ten minutes)',
    wanted: (names) => names.includes('opencv4nodejs'),
    done: opencvIsBuilt,
    make: buildOpencv,
  },
  {
    title: 'programs of native/bench',
    wanted: (names) => names.includes('floor'),
    done: () => false, // make itself knows what has changed
    make: buildNative,
  },
];

/** Makes what is missing for those contenders. */
export async function setUp(names) {
  for (const { title, wanted, done, make } of steps) {
    if (!wanted(names) || done()) continue;
    const start = performance.now();
    await withProgress(title, make);
    process.stderr.write(`✓ ${title} (${seconds(start)})\n`);
  }
}
