// The script of the API's page, in parts: what the page shows comes first, the form that sends requests when it is opened.
// Set-up runs it: node scripts/lib/reference.mjs FOLDER TARGET
import { build } from 'esbuild';

const [folder, outdir] = process.argv.slice(2);

/** What the page never shows: an assistant, which it switches off, and icons that a document may name for its operations. */
const unseen = /^\.\/(?:chunks\/)?(?:AgentScalarDrawer|[\w-]+\.svg)-[\w-]+\.js$/;

await build({
  entryPoints: { reference: `${folder}/standalone.esm.js` },
  outdir,
  bundle: true,
  splitting: true,
  format: 'esm',
  minify: true,
  charset: 'utf8',
  logLevel: 'warning',
  // The page's own address, wherever a proxy has put it: src/site/page.ts.
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
