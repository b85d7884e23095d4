// npm run dev: a server that starts again, from what is compiled, whenever a file of src changes.
// Arguments go to `facematch serve`. Native code is not watched: `npm run setup` builds it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';

// A group of its own: tsc is a script that starts the compiler.
const compiler = spawn('node_modules/.bin/tsc', ['--watch', '--preserveWatchOutput'], {
  stdio: 'inherit',
  detached: true,
});
const nodeOptions = ['--enable-source-maps', '--inspect=127.0.0.1:0', '--max-semi-space-size=4'];
let server;
let starting;

function start() {
  const program = [...nodeOptions, 'dist/src/cli/index.js', 'serve', ...process.argv.slice(2)];
  server = spawn(process.execPath, program, { stdio: 'inherit' });
}

async function restart() {
  server.kill();
  if (server.exitCode === null) await once(server, 'exit');
  starting = undefined;
  start();
}

start();
// One change of a file in src is several in dist.
watch('dist', { recursive: true }, (_event, file) => {
  if (!file?.endsWith('.js')) return;
  clearTimeout(starting);
  starting = setTimeout(restart, 200);
});
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    clearTimeout(starting);
    process.kill(-compiler.pid);
    server.kill(signal);
    if (server.exitCode === null) await once(server, 'exit');
    process.exit(0);
  });
}
