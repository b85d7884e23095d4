// npm run dev: compiles src and restarts the server whenever a file of it changes. Arguments go to `facematch
// serve`. Native code is not watched: `npm run setup` builds it.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';

const program = 'dist/src/cli/index.js';
const { config } = await import('../dist/src/config/config.js').then(({ surveySettings }) =>
  surveySettings(),
);

// A clone has no keys. This one is for development: created at each start, because only its hash is stored.
const env = { ...process.env };
if (!existsSync(config.keys_file)) {
  env.FACEMATCH_KEYS_FILE = 'build/development-keys.json';
  rmSync(env.FACEMATCH_KEYS_FILE, { force: true });
  const create = [program, 'keys', 'create', '--name', 'development'];
  const key = execFileSync(process.execPath, create, {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const scheme = config.tls_cert === '' ? 'http' : 'https';
  console.log(`${config.keys_file} does not exist, so this is a key for development, until you stop the server:
  ${key.trim()}
Demo page: ${scheme}://${config.host}:${config.port}/API/v1.0/demo
`);
}

// A separate process group, because tsc is a script that starts the compiler.
const compiler = spawn('node_modules/.bin/tsc', ['--watch', '--preserveWatchOutput'], {
  stdio: 'inherit',
  detached: true,
});
const watching = ['--watch-path=dist', '--watch-preserve-output', '--enable-source-maps'];
const debugged = ['--inspect=127.0.0.1:0', '--max-semi-space-size=4', program, 'serve'];
const server = spawn(process.execPath, [...watching, ...debugged, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env,
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.kill(signal));
server.once('exit', () => process.kill(-compiler.pid));
