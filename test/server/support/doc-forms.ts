import { existsSync } from 'node:fs';
import { projectPath } from '../../../src/paths.ts';
import { hasYunet } from './doc-folder.ts';

/** In which form each command of the docs is run. A command that stands in none of these tables fails the test. */

/** Run as they stand: they are short, stay on this machine, and end by themselves. */
export const asWritten: readonly RegExp[] = [
  /^curl /,
  /^KEY=\$\(npx facematch keys create [^)]+\)$/,
  /^KEY=\$KEY node first-match\.mjs /,
  /^npx facematch (?:match|detect|keys create|keys list) [^…]+$/,
  /^npx facematch keys list$/,
  /^npx facematch (?:eval|calibrate) (?!.*(?:…|--write|--held-out-cohort)).*\bDIR\b/,
  /^npm run (?:setup|demo|docs)$/,
  /^cmake --preset \w+$/,
];

/** Run until it serves, on free ports, and stopped as its manager would. */
export const serving = /^(?:FACEMATCH_\w+=\S+ )*(?:npm start|node dist\/src\/cli\/index\.js serve)$/;

/** Names a command and perhaps options of it; its help must have them. */
export const mention = /^(?:npx )?facematch (\w+)((?: \w+)?(?: --[\w-]+| [A-Z.]+)*)$/;

export interface Form {
  run: string;
  because: string;
  /** Exit codes that are right; 0 unless told otherwise. */
  codes?: readonly number[];
  /** What the output must show, where the exit code says little. */
  says?: RegExp;
  /** `project`: what it compiles for minutes is kept from one time to the next; else a clone of it. */
  where?: 'project';
  /** A reason not to run it here. */
  lacks?: string | undefined;
}

const long = 'takes minutes to hours';
const unlike = 'so short a run is too short for its claims';
const few = 'its real sets are labelled photos of thousands of people';

const yunet = hasYunet ? undefined : 'the file of the pack yunet, which a developer brings, is not there';
const nets = existsSync(projectPath('.cache/bench/nets'))
  ? undefined
  : 'the nets as published were not fetched yet (npm run bench does)';
const plain = existsSync(projectPath('build/asan-addon/Release/facematch.node')) ? '' : ' --plain';

const bench: Form = {
  run: 'npm run bench -- --quick --seconds 0.2 --contenders facematch --only refused-key --out results.json',
  because: long,
  says: /requests\/s/,
};
const fuzz: Form = {
  run: `npm run fuzz:server -- --requests 60 --hurry${plain}`,
  because: long,
  codes: [0, 1],
  says: /✓ the server lived to the end.*\n✓ faults in its log.*\n✓ requests that hung/,
};
const hardPictures: Form = {
  run: 'node bench/hard-pictures.mjs --write --only tiny --every 8 --fallback',
  because: long,
};
const faceQuality: Form = {
  run: 'FACEMATCH_SHARED=labelled node bench/face-quality.mjs --pairs 1 --fast',
  because: few,
};
const int8: Form = {
  run: 'FACEMATCH_SHARED=labelled node bench/int8.mjs --calibrate 1 --rounds 1 --speed --only convolutions',
  because: few,
  lacks: nets,
};
const modelCard: Form = {
  run: 'FACEMATCH_SHARED=$CLONE/labelled node bench/model-card.mjs',
  because: `${few}; of so few it makes no cohort, and says so`,
  codes: [1],
  says: /too few people/,
};
const heldOut: Form = {
  run: 'npx facematch eval lfw=PAIRS.tsv:DIR rmfd=PAIRS.tsv:DIR --held-out-cohort',
  because: modelCard.because,
  codes: [1],
  says: /too few people/,
};
const refit: Form = {
  run: 'FACEMATCH_PACK=./fitted-pack npx facematch calibrate lfw=DIR:2 rmfd=DIR:1 --check --write',
  because: 'the clone goes on with the pack that it has',
  says: /Written into the pack/,
};
/** As it stands, where it can be. */
const standing = (run: string, lacks?: string): Record<string, Form> => ({
  [run]: { run, because: 'as it stands', lacks },
});
const native: Form = { run: 'npm run bench:native -- --rounds 1', because: long, where: 'project' };
const someTests = (files: string): Form => ({
  run: `ls ${files} && node scripts/test.mjs vitest test/unit/queue.test.ts`,
  because: 'npm test runs these files; here, that they are there, and that the command takes files',
  says: /\n\d+ passed, 0 failed/,
});

export const forms: Readonly<Record<string, Form>> = {
  'npm run soak': {
    run: 'npm run soak -- --requests 20 --clients 2',
    because: `${long}, and ${unlike}`,
    codes: [0, 1],
    says: /✓ every request answered 200/,
  },
  'npm run fuzz:server': fuzz,
  'npm run fuzz:server -- --requests 2000': fuzz,
  'node bench/overload.mjs': {
    run: 'node bench/overload.mjs --rounds 1 --seconds 1',
    because: `${long}, and ${unlike}`,
    codes: [0, 1],
    says: /✓ requests lost/,
  },
  'npm run bench': bench,
  'npm run bench -- --contenders facematch,floor': bench,
  'npm run --silent bench -- --quick --json': {
    run: 'npm run --silent bench -- --quick --json --seconds 0.2 --contenders facematch --only refused-key | node -e "JSON.parse(fs.readFileSync(0))"',
    because: long,
  },
  'npm run bench -- --report': {
    run: 'npm run bench -- --report docs/benchmarks/results.json',
    because: 'there are no results of a run in a new clone',
  },
  'npm run bench:native': native,
  'npm run bench:native -- --pack models/packs/yunet --beside models/packs/default': {
    run: 'npm run bench:native -- --pack models/packs/yunet --beside models/packs/default --rounds 1',
    because: long,
    where: 'project',
    lacks: yunet,
  },
  'node bench/multipart.mjs': { run: 'node bench/multipart.mjs --mib 1 --rounds 1', because: long },
  'node bench/model-card.mjs': modelCard,
  'node bench/model-card.mjs --write': modelCard,
  'node bench/choices.mjs': {
    run: 'node bench/choices.mjs --lfw $CLONE/few --rmfd $CLONE/few',
    because: few,
    where: 'project',
  },
  'node bench/hard-pictures.mjs': hardPictures,
  'node bench/hard-pictures.mjs --write': hardPictures,
  'node bench/fallback-cost.mjs': { run: 'node bench/fallback-cost.mjs --rounds 1', because: long },
  'node bench/face-quality.mjs': faceQuality,
  'node bench/int8.mjs': int8,
  'node bench/int8.mjs --calibrate 40 --rounds 120': int8,
  'node bench/embedding-cache.mjs': {
    run: 'node bench/embedding-cache.mjs --rounds 1 --requests 2',
    because: long,
  },
  'node scripts/test.mjs vitest test/unit/queue.test.ts': someTests('test/unit/queue.test.ts'),
  'node scripts/test.mjs vitest test/browser/first-view.test.ts': someTests(
    'test/browser/first-view.test.ts',
  ),
  'node scripts/test.mjs vitest test/native/exit.test.ts test/native/workers.test.ts test/native/memory.test.ts':
    someTests('test/native/exit.test.ts test/native/workers.test.ts test/native/memory.test.ts'),
  'npx facematch eval lfw=PAIRS.tsv:DIR rmfd=PAIRS.tsv:DIR --held-out-cohort': heldOut,
  'npx facematch eval lfw=PAIRS.tsv:DIR rmfd=… --held-out-cohort --report DIR': heldOut,
  '… --mode fast': {
    run: 'npx facematch eval PAIRS.tsv --images DIR --mode fast',
    because: 'it goes on from the line above',
  },
  'npx facematch calibrate … --check': {
    run: 'npx facematch calibrate staff=DIR --check',
    because: 'it stands for sets of all kinds',
  },
  'npx facematch calibrate … --check --write': refit,
  'npx facematch calibrate lfw=DIR:2 rmfd=DIR:1 --check --write': refit,
  'npx facematch calibrate lfw-dev=DIR:2 rmfd-dev=DIR:1 --check --write': refit,
  'node dist/models/prepare/index.js [name or path] [--file NET=PATH]…': {
    run: 'node dist/models/prepare/index.js default',
    because: 'it is how to write all of them',
  },
  ...standing('node dist/models/prepare/index.js yunet --file detector=yunet_n_dynamic.onnx', yunet),
  ...standing('node dist/models/prepare/index.js yunet', yunet),
  ...standing('FACEMATCH_PACK=yunet npm start', yunet),
  'FACEMATCH_PACK=yunet npx facematch eval …': {
    run: 'FACEMATCH_PACK=yunet npx facematch eval PAIRS.tsv --images DIR',
    because: few,
    lacks: yunet,
  },
  'FACEMATCH_PACK=yunet npx facematch calibrate lfw=DIR:2 rmfd=DIR:1 --check --write': {
    run: 'FACEMATCH_PACK=yunet npx facematch calibrate lfw=DIR:2 rmfd=DIR:1 --check',
    because: refit.because,
    lacks: yunet,
  },
  ...standing('node dist/models/prepare/index.js ./my-pack --file embedder=PATH'),
  ...standing('FACEMATCH_PACK=./my-pack npx facematch calibrate people=DIR --check --write'),
  'FACEMATCH_PACK=./my-pack npm start': {
    run: 'FACEMATCH_PACK=./ready-pack npm start',
    because: 'a table made of so few people serves nobody',
  },
  'FACEMATCH_PACK=./my-pack npx vitest run test/native/addon.test.ts test/server/match.test.ts': {
    run: 'ls test/server/match.test.ts && FACEMATCH_PACK=./ready-pack npx vitest run test/native/addon.test.ts',
    because: 'a table made of so few people serves nobody',
  },
  'cmake --build --preset tsan': {
    run: 'cmake --build --preset tsan --target help',
    because: 'it compiles for minutes',
  },
  'ctest --preset tsan': { run: 'ctest --preset tsan -N', because: 'nothing was compiled', says: /threads/ },
};

/** Not run at all, and why. */
export const never: Readonly<Record<string, string>> = {
  'npx facematch …': 'the head of a table, whose rows are held against the help',
  'npm test': 'this is a part of it',
  'node scripts/test.mjs native': 'it is a part of npm test, and compiles for minutes',
  'npm ci': 'what set-up does; fetches packages from the registry',
  'npm pack': 'what set-up does; fetches the tarball from the registry',
  'apt-get install -s --no-install-recommends libopencv-imgcodecs406': 'asks the package lists of the system',
  'npm run bench -- --with opencv4nodejs': 'installs a Debian package and compiles for ten minutes',
  'npm run bench -- --with opencv4nodejs --rounds 2 --seconds 3':
    'installs a Debian package and compiles for ten minutes',
  'node bench/oracle.mjs': 'installs a Debian package and compiles for ten minutes',
  'node bench/surroundings.mjs': 'takes minutes at its shortest, and every server of it is one of the bench',
  'facematch listens on http://127.0.0.1:8080': 'what the server says, not what one types',
};
