// Runs the programs of the clients' page (README.md here) in the languages that are installed, against a server of its own.
//   node docs/clients/try-languages.mjs
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endOnSignals, root, startServer } from '../../test/support/programs.mjs';

/** Block of the page → its file, and the commands that run it; the last one gets the photos. */
const languages = {
  java: { file: 'Match.java', run: [['java', 'Match.java']] },
  csharp: {
    file: 'match.cs',
    run: [
      ['mcs', '-r:System.Net.Http', 'match.cs'],
      ['mono', 'match.exe'],
    ],
  },
  go: { file: 'match.go', run: [['go', 'run', 'match.go']] },
  php: { file: 'match.php', run: [['php', 'match.php']] },
  ruby: { file: 'match.rb', run: [['ruby', 'match.rb']] },
};

endOnSignals();
const page = readFileSync(new URL('README.md', import.meta.url), 'utf8');
const photos = [1, 3].map((number) =>
  join(root, `node_modules/@vladmandic/face-api/demo/sample${number}.jpg`),
);
const folder = mkdtempSync(join(tmpdir(), 'facematch-'));
const server = await startServer({});
const env = {
  ...process.env,
  GOCACHE: join(folder, 'go'),
  FACEMATCH_URL: `http://127.0.0.1:${server.port}`,
  FACEMATCH_KEY: server.key,
};
let failed = 0;
for (const [language, { file, run }] of Object.entries(languages)) {
  const [, program] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(page) ?? [];
  if (program === undefined) throw new Error(`The page has no block of ${language}`);
  if (spawnSync('which', run.at(-1).slice(0, 1)).status !== 0) {
    console.log(`–  ${language}: not installed`);
    continue;
  }
  writeFileSync(join(folder, file), program);
  let output = '';
  for (const [i, [command, ...args]] of run.entries()) {
    const files = i === run.length - 1 ? photos : [];
    const { stdout, stderr } = spawnSync(command, [...args, ...files], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
    output += stdout + stderr;
  }
  const ok = /"match": ?true/.test(output);
  if (!ok) failed += 1;
  console.log(ok ? `✓  ${language}` : `✗  ${language}: ${output.slice(0, 500)}`);
}
await server.stop();
rmSync(folder, { recursive: true, force: true });
process.exitCode = failed > 0 ? 1 : 0;
