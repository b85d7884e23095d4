import { existsSync } from 'node:fs';
import { projectPath } from '../../../src/paths.ts';
import { callerForms } from './doc-caller-forms.ts';
import { type Form, few, standing, yunet } from './doc-form.ts';

/** In which form each command of the docs is run. A command that stands in none of these tables fails the test. */

/** Run as they stand: they are short, stay on this machine, and end by themselves. */
export const asWritten: readonly RegExp[] = [
  /^curl /,
  /^KEY=\$\((?:npx )?facematch keys create [^)]+\)$/,
  /^KEY=\$KEY node first-match\.mjs /,
  /^(?:npx )?facematch (?:match|detect) [^…]*\.\w+/,
  /^(?:npx )?facematch (?:demo|config|keys list)\b/,
  /^(?:npx )?facematch keys create --name [^…]+$/,
  /^(?:npx )?facematch eval (?!-|.*(?:…|--held-out-cohort))/,
  /^facematch completion \w+ > /,
  /^docs\/clients\/match\.sh /,
  /^npm run (?:setup|demo|docs)$/,
  /^npm link$/,
  /^npx vitest run test\/unit\/third-party\.test\.ts$/,
  /^cmake --preset \w+$/,
];

/** Run until it serves, on free ports, and stopped as its manager would. */
export const serving =
  /^(?:FACEMATCH_\w+=\S+ )*(?:npm start|facematch serve|node(?: --[\w=-]+)* dist\/src\/cli\/index\.js serve)$/;

/** Names a command and perhaps options of it; its help must have them. */
export const mention = /^(?:npx )?facematch (\w+)((?: \w+)?(?: --[\w-]+| [A-Z.]+)*)$/;

const { hasNginx } = await import(projectPath('test/support/nginx.mjs'));

const long = 'takes minutes to hours';
const unlike = 'so short a run is too short for its claims';
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
  run: 'FACEMATCH_SHARED=labelled node bench/int8.mjs --calibrate 1 --rounds 1 --speed --only pointwise',
  because: few,
  lacks: nets,
};
const modelCard: Form = {
  run: 'FACEMATCH_SHARED=$CLONE/labelled node bench/model-card.mjs',
  because: `${few}; it names the first that is not there`,
  codes: [2],
  says: /There is no shared data london-dev/,
};
const native: Form = { run: 'npm run bench:native -- --rounds 1', because: long, where: 'project' };
const someTests = (files: string): Form => ({
  run: `ls ${files} && node scripts/test.mjs vitest test/unit/queue.test.ts`,
  because: 'npm test runs these files; here, that they are there, and that the command takes files',
  says: /\n\d+ passed, 0 failed/,
});

export const forms: Readonly<Record<string, Form>> = {
  ...callerForms,
  'npm run soak': {
    run: 'npm run soak -- --requests 20 --clients 2 --rest 0',
    because: `${long}, and ${unlike}`,
    codes: [0, 1],
    says: /✓ every request answered 200/,
  },
  'node bench/soak.mjs --through nginx-tls': {
    run: 'node bench/soak.mjs --through nginx-tls --requests 20 --clients 2 --rest 0',
    because: `${long}, and ${unlike}`,
    codes: [0, 1],
    says: /✓ every request answered 200/,
    lacks: hasNginx ? undefined : 'nginx is not installed',
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
  'node bench/hard-pictures.mjs': hardPictures,
  'node bench/hard-pictures.mjs --write': hardPictures,
  'node bench/fallback-cost.mjs': { run: 'node bench/fallback-cost.mjs --rounds 1', because: long },
  'node bench/face-quality.mjs': faceQuality,
  'node bench/int8.mjs': int8,
  'node bench/int8.mjs --write int8': {
    run: 'cp -r models/packs/int8 tmp && FACEMATCH_SHARED=labelled node bench/int8.mjs --calibrate 1 --write ./tmp/int8',
    because: few,
    lacks: nets,
  },
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
  'npm version X.Y.Z --no-git-tag-version': {
    run: 'mkdir tmp/release && cp package*.json tmp/release && cd tmp/release && npm version 98.7.6 --no-git-tag-version && grep 98.7.6 package.json package-lock.json',
    because: 'set-up would do all of its steps again for the clone',
    says: /^package-lock\.json:/m,
  },
  'node dist/models/prepare/index.js [name or path] [--file NET=PATH]…': {
    run: 'node dist/models/prepare/index.js default',
    because: 'it is how to write all of them',
  },
  ...standing('node dist/models/prepare/index.js yunet --file detector=yunet_n_dynamic.onnx', {
    lacks: yunet,
  }),
  ...standing('node dist/models/prepare/index.js yunet', { lacks: yunet }),
  ...standing('FACEMATCH_PACK=yunet npm start', { lacks: yunet }),
  ...standing('FACEMATCH_PACK=int8 npm start'),
  ...standing('node dist/models/prepare/index.js ./my-pack --file embedder=PATH'),
  'FACEMATCH_PACK=./my-pack npm start': {
    run: 'FACEMATCH_PACK=./ready-pack npm start',
    because: 'of so few people it got no table',
  },
  'FACEMATCH_PACK=./my-pack npx vitest run test/native/addon.test.ts test/server/match.test.ts': {
    run: 'ls test/server/match.test.ts && FACEMATCH_PACK=./ready-pack npx vitest run test/native/addon.test.ts',
    because: 'of so few people it got no table',
  },
  'cmake --build --preset tsan': {
    run: 'cmake --build --preset tsan --target help',
    because: 'it compiles for minutes',
  },
  'ctest --preset tsan': { run: 'ctest --preset tsan -N', because: 'nothing was compiled', says: /threads/ },
};

const firstAnswer =
  'clones, gets packages from the registry and compiles for minutes; first-answer.test.ts has what it refuses and how it ends';

const engine = 'needs a container engine; deploy/prove-image takes the same steps without one';
const system = 'changes the system: users, /etc, services';

/** Not run at all, and why. */
export const never: Readonly<Record<string, string>> = {
  'npx facematch …': 'the head of a table, whose rows are held against the help',
  'facematch COMMAND': 'it stands for every command, and each is run',
  'npx facematch COMMAND': 'it stands for every command, and each is run',
  'npm test': 'this is a part of it',
  'node scripts/test.mjs native': 'it is a part of npm test, and compiles for minutes',
  'npm ci': 'what set-up does; fetches packages from the registry',
  'deploy/prove-replicas': 'takes minutes; replicas.test.ts runs it with --quick',
  'npm audit': 'asks the registry',
  'npm audit --prefix bench': 'asks the registry',
  'node bench/first-answer.mjs': firstAnswer,
  'node bench/first-answer.mjs --fresh': firstAnswer,
  'node bench/first-answer.mjs --fresh --suite bookworm': firstAnswer,
  'npm pack': 'what set-up does; fetches the tarball from the registry',
  'apt-get install -s --no-install-recommends libopencv-imgcodecs406': 'asks the package lists of the system',
  'npm run bench -- --with opencv4nodejs': 'installs a Debian package and compiles for ten minutes',
  'npm run bench -- --with opencv4nodejs --seconds 2':
    'installs a Debian package and compiles for ten minutes',
  'node bench/oracle.mjs': 'installs a Debian package and compiles for ten minutes',
  'node bench/surroundings.mjs': 'takes minutes at its shortest, and every server of it is one of the bench',
  'docker build --pull --tag facematch .': engine,
  'mkdir -p keys && docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD/keys:/etc/facematch" facematch keys create --name shop':
    engine,
  'docker run --detach --name facematch --read-only --cap-drop ALL --security-opt no-new-privileges --stop-timeout 20 --user "$(id -u):$(id -g)" --volume "$PWD/keys:/etc/facematch:ro" --publish 127.0.0.1:8080:8080 facematch':
    engine,
  'sudo useradd --system --no-create-home --shell /usr/sbin/nologin facematch': system,
  'sudo install --directory --owner facematch --group facematch --mode 0750 /etc/facematch': system,
  'sudo -u facematch env FACEMATCH_KEYS_FILE=/etc/facematch/keys.json /opt/facematch/scripts/facematch.mjs keys create --name shop':
    system,
  'sudo systemctl enable --now /opt/facematch/deploy/facematch.service': system,
  'kubectl create secret generic facematch-keys --namespace facematch --from-file=keys.json --dry-run=client --output=yaml | kubectl apply --filename=-':
    'needs a cluster',
  'kubectl apply --kustomize deploy/kubernetes/monitoring':
    'needs a cluster; deploy-kubernetes.test.ts builds what it applies',
  'facematch listens on http://127.0.0.1:8080': 'what the server says, not what one types',
};
