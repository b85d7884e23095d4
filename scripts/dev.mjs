// npm run dev: a server that starts again, from what is compiled, whenever a file of src changes.
// Arguments go to `facematch serve`. Native code is not watched: `npm run setup` builds it.
import { spawn } from 'node:child_process';

// A group of its own: tsc is a script that starts the compiler.
const compiler = spawn('node_modules/.bin/tsc', ['--watch', '--preserveWatchOutput'], {
  stdio: 'inherit',
  detached: true,
});
const watching = ['--watch-path=dist', '--watch-preserve-output', '--enable-source-maps'];
const debugged = ['--inspect=127.0.0.1:0', '--max-semi-space-size=4', 'dist/src/cli/index.js', 'serve'];
const server = spawn(process.execPath, [...watching, ...debugged, ...process.argv.slice(2)], {
  stdio: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.kill(signal));
server.once('exit', () => process.kill(-compiler.pid));
