// npm run dev: compiles src and restarts the server whenever a file in src changes. Passes its arguments to
// `facematch serve`. Does not watch native code; `npm run setup` builds it.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';

const program = 'dist/src/cli/index.js';
const { config } = await import('../dist/src/config/config.js').then(({ surveySettings }) =>
  surveySettings(),
);

// Creates a development key at each start if there is no key file. The file stores only a hash, so an earlier key
// cannot be printed again.
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
  console.log(`${config.keys_file} does not exist. This development key is valid until you stop the server:
  ${key.trim()}
Demo page: ${scheme}://${config.host}:${config.port}/API/v1.0/demo
`);
}

// Runs in its own process group, because tsc starts the compiler as a child process.
const compiler = spawn('node_modules/.bin/tsc', ['--watch', '--preserveWatchOutput'], {
  stdio: 'inherit',
  detached: true,
});
const watchFlags = ['--watch-path=dist', '--watch-preserve-output', '--enable-source-maps'];
const serveArgs = ['--inspect=127.0.0.1:0', '--max-semi-space-size=4', program, 'serve'];
const server = spawn(process.execPath, [...watchFlags, ...serveArgs, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env,
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.kill(signal));
server.once('exit', () => process.kill(-compiler.pid));
