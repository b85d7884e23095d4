// The steps of setup that build `dist`: the clients' types, the client, the program, and the pages' scripts and styles.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { apiReference, extractFiles } from './extract.mjs';
import { hashOf, isStamped, run, writeStamp } from './run.mjs';

/** esbuild options for the script that writes the types of `facematch/client-types`. */
const clientTypes = [
  ...['scripts/lib/client-types.mjs', '--platform=node', '--format=esm', '--packages=external'],
  '--outfile=build/client-types.mjs',
];

const typesFile = 'build/client/types.d.ts';
const typesStamp = 'build/client/.stamp';
const typesHash = () => hashOf(['src', 'package-lock.json', 'scripts/lib/client-types.mjs']);

/** Writes the types of `facematch/client-types`. The type check needs only this step of the build. */
export const typesStep = {
  id: 'types',
  title: "clients' types",
  missing: () => (isStamped(typesStamp, typesHash()) ? undefined : 'from the OpenAPI document'),
  make: async () => {
    const bundle = ['node_modules/esbuild/bin/esbuild', '--bundle', '--log-level=warning', ...clientTypes];
    await run(process.execPath, bundle, { advice: "The clients' types could not be bundled." });
    const make = ['build/client-types.mjs', typesFile];
    await run(process.execPath, make, { advice: "The clients' types could not be generated." });
    writeStamp(typesStamp, typesHash());
  },
};

/** esbuild options that copy and minify the markup, styles and script of the pages. */
const pages = (lab) => [
  ...['page.html', 'page.css', 'live.css', 'main.ts'].map((name) => `src/demo/browser/${name}`),
  ...['src/site/page.css', ...lab.map((folder) => `${folder}/report/report.css`)],
  ...['--minify', '--format=esm', '--charset=utf8', '--loader:.html=copy'],
  ...['--outbase=.', '--outdir=dist'],
];

/** Folder of the extracted script of the API reference page. */
const reference = 'build/reference';

/** Replaces the imports in the client's declaration file by the imported types. */
function inlineTypes() {
  const file = 'dist/client/facematch.d.mts';
  const imports = /^import type .* from 'facematch\/client-types';\n/m;
  const types = readFileSync('dist/client/types.d.ts', 'utf8');
  writeFileSync(file, readFileSync(file, 'utf8').replace(imports, '') + types);
}

async function extractReference() {
  const stamp = `${reference}/.stamp`;
  const hash = hashOf([], [apiReference.integrity, ...apiReference.files]);
  if (isStamped(stamp, hash)) return;
  const advice =
    "The script of the API reference page could not be downloaded. Check the network and npm's registry setting (npm config get registry).";
  await extractFiles(apiReference, reference, advice);
  writeStamp(stamp, hash);
}

/** Modules that the page never uses: the assistant, which is disabled, and icons for operations. */
const unused = /^\.\/(?:chunks\/)?(?:AgentScalarDrawer|[\w-]+\.svg)-[\w-]+\.js$/;

/** Bundles the script in chunks, so that the page loads its request form only when the user opens it. */
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
    // Relative to the page's URL, because a proxy may add a prefix: see src/site/page.ts.
    publicPath: './docs?part=',
    plugins: [
      {
        name: 'unused',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: unused }, ({ kind }) =>
            kind === 'dynamic-import' ? { path: 'unused', namespace: 'unused' } : undefined,
          );
          onLoad({ filter: /./, namespace: 'unused' }, () => ({ contents: 'export default {}' }));
        },
      },
    ],
  });
}

/** `lab` is a list with the folder of the laboratory, or an empty list without the laboratory. */
export function programStep(lab) {
  const hash = () =>
    hashOf([
      ...['src', ...lab, 'models/prepare', 'tsconfig.json', 'package-lock.json'],
      ...['client-types', 'extract', 'program'].map((name) => `scripts/lib/${name}.mjs`),
    ]);
  return {
    id: 'program',
    title: 'program',
    missing: () => (isStamped('dist/.stamp', hash()) ? undefined : 'tsc'),
    make: async () => {
      await extractReference();
      rmSync('dist', { recursive: true, force: true });
      const node = (advice, ...args) => run(process.execPath, args, { advice });
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
