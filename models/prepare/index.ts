import { preparePack } from './prepare.ts';

const name = process.argv[2] ?? 'default';

try {
  const outcome = await preparePack(name, (line) => console.error(line));
  console.error(`Model pack ${name}: ${outcome}`);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
