// The steps of set-up that make `dist`: types of the clients, the client, the program, the pages' scripts and styles.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { apiReference, liftFiles } from './lift.mjs';
import { hashOf, isStamped, run, writeStamp } from './run.mjs';

/** Sources of the types of `facematch/client-types`. */
const clientTypes = [
  ...['scripts/lib/client-types.mjs', '--platform=node', '--format=esm', '--packages=external'],
  '--outfile=build/client-types.mjs',
];

const typesFile = 'build/client/types.d.ts';
const typesStamp = 'build/client/.stamp';
const typesHash = () => hashOf(['src', 'package-lock.json', 'scripts/lib/client-types.mjs']);

/** The types of `facematch/client-types`, a separate step: the type checks need no other build product. */
export const typesStep = {
  id: 'types',
  title: "clients' types",
  missing: () => (isStamped(typesStamp, typesHash()) ? undefined : 'from the OpenAPI document'),
  make: async () => {
    const bundle = ['node_modules/esbuild/bin/esbuild', '--bundle', '--log-level=warning', ...clientTypes];
    await run(process.execPath, bundle, { cure: "The clients' types could not be bundled." });
    const make = ['build/client-types.mjs', typesFile];
    await run(process.execPath, make, { cure: "The clients' types could not be made." });
    writeStamp(typesStamp, typesHash());
  },
};

/** Copies markup, styles and script of the pages to the built program. */
const pages = (lab) => [
  ...['page.html', 'page.css', 'live.css', 'main.ts'].map((name) => `src/demo/browser/${name}`),
  ...['src/site/page.css', ...lab.map((folder) => `${folder}/report/report.css`)],
  ...['--minify', '--format=esm', '--charset=utf8', '--loader:.html=copy'],
  ...['--outbase=.', '--outdir=dist'],
];

/** Bundles the script that shows the API's page. */
const reference = 'build/reference';

/** Makes the client's declarations one file without imports. */
function inlineTypes() {
  const file = 'dist/client/facematch.d.mts';
  const imports = /^import type .* from 'facematch\/client-types';\n/m;
  const types = readFileSync('dist/client/types.d.ts', 'utf8');
  writeFileSync(file, readFileSync(file, 'utf8').replace(imports, '') + types);
}

async function liftReference() {
  const stamp = `${reference}/.stamp`;
  const hash = hashOf([], [apiReference.integrity, ...apiReference.files]);
  if (isStamped(stamp, hash)) return;
  const cure =
    "The script of the API's page could not be had. Check the network and npm's registry setting (npm config get registry).";
  await liftFiles(apiReference, reference, cure);
  writeStamp(stamp, hash);
}

/**
 * Parts that the page never shows: an assistant, which it switches off, and icons that a document may name
 * for its operations.
 */
const unseen = /^\.\/(?:chunks\/)?(?:AgentScalarDrawer|[\w-]+\.svg)-[\w-]+\.js$/;

/**
 * Split into parts: the visible part of the page comes first, the form that sends requests when it is opened.
 */
async function bundleReference() {
  const { build } = await import('esbuild');
  await build({
    entryPoints: { reference: `${reference}/dist/browser/standalone.esm.js` },
    outdir: 'dist/src/site/reference',
    bundle: true,
    splitting: true,
    format: 'esm',
    minify: true,
    charset: 'utf8',
    logLevel: 'warning',
    // The page's own URL, wherever a proxy serves it: src/site/page.ts.
    publicPath: './docs?part=',
    plugins: [
      {
        name: 'unseen',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: unseen }, ({ kind }) =>
            kind === 'dynamic-import' ? { path: 'unseen', namespace: 'unseen' } : undefined,
          );
          onLoad({ filter: /./, namespace: 'unseen' }, () => ({ contents: 'export default {}' }));
        },
      },
    ],
  });
}

/** `lab`: the laboratory's folder, in a list; an empty list without it. */
export function programStep(lab) {
  const hash = () =>
    hashOf([
      ...['src', ...lab, 'models/prepare', 'tsconfig.json', 'package-lock.json'],
      ...['client-types', 'lift', 'program'].map((name) => `scripts/lib/${name}.mjs`),
    ]);
  return {
    id: 'program',
    title: 'program',
    missing: () => (isStamped('dist/.stamp', hash()) ? undefined : 'tsc'),
    make: async () => {
      await liftReference();
      rmSync('dist', { recursive: true, force: true });
      const node = (cure, ...args) => run(process.execPath, args, { cure });
      const bundle = ['node_modules/esbuild/bin/esbuild', '--bundle', '--log-level=warning'];
      const compile = ['node_modules/typescript/bin/tsc', '-p'];
      if (typesStep.missing() !== undefined) await typesStep.make();
      cpSync(typesFile, 'dist/client/types.d.ts');
      await node('The client did not compile.', ...compile, 'src/client');
      inlineTypes();
      await node('The TypeScript sources did not compile.', ...compile, '.');
      await node('The pages could not be bundled.', ...bundle, ...pages(lab));
      await bundleReference();
      writeStamp('dist/.stamp', hash());
    },
  };
}
