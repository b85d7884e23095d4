// Runs command lines one after another in this process, like the main module. A message contains the arguments,
// the working folder and the environment; the response is the exit code.
const { run } = await import('../../../dist/src/cli/program.js');

process.on('message', async ({ args, folder, env }) => {
  process.chdir(folder);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.exitCode = undefined;
  const code = await run([...process.argv.slice(0, 2), ...args]);
  // Each command line adds a listener.
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error');
  process.send(code);
});
process.send('ready');
