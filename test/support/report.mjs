// Prints the parts that all reports share: the machine, and each claim with its result.
import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { root } from './programs.mjs';

export const MiB = 1024 * 1024;
/** Rounds to one decimal. */
export const round1 = (value) => Math.round(value * 10) / 10;
export const mib = (bytes) => round1(bytes / MiB);
export const percent = (share) => `${(share * 100).toFixed(2)} %`;
/** Returns a quantile by nearest rank; 0 for an empty list. */
export const quantile = (values, share) =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? 0;
/**
 * Returns the numbers of requests after which a long run measures memory: `settled`, and the ends of `parts` equal parts
 * of `total`.
 */
export const marksOf = (total, settled, parts) =>
  [
    settled,
    ...Array.from({ length: parts }, (_item, part) => Math.round((total * (part + 1)) / parts)),
  ].filter((mark, index) => index === 0 || mark > settled);

/**
 * Parses flags with defaults: an integer, a string, `false` for a switch, or a list of allowed words with the default
 * first. Exits on an unknown flag.
 */
export function flags(defaults) {
  const type = (fallback) => (fallback === false ? 'boolean' : 'string');
  try {
    const { values } = parseArgs({
      options: Object.fromEntries(
        Object.entries(defaults).map(([name, fallback]) => [name, { type: type(fallback) }]),
      ),
    });
    return Object.fromEntries(
      Object.entries(defaults).map(([name, fallback]) => {
        const words = Array.isArray(fallback) ? fallback : undefined;
        const value = values[name] ?? words?.[0] ?? fallback;
        if (words && !words.includes(value))
          throw new Error(`--${name}: expected one of ${words.join(', ')}`);
        if (typeof fallback !== 'number') return [name, value];
        if (!/^\d+$/.test(String(value))) throw new Error(`--${name}: expected a whole number`);
        return [name, Number(value)];
      }),
    );
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}

export function environment() {
  const git = (...args) => {
    try {
      return execFileSync('git', args, {
        cwd: root,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim();
    } catch {
      return '';
    }
  };
  const changed = git('status', '--porcelain', '--', 'src', 'native') === '' ? '' : ' with local changes';
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: (git('rev-parse', '--short', 'HEAD') || 'unknown') + changed,
    node: process.version,
    cpu: `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}`,
    memory_gib: Math.round(totalmem() / 1024 / MiB),
  };
}

export const claim = (what, found, limit, ok) => ({ what, found, limit, ok });

/**
 * Prints a report and sets the exit code. `claims` are results of `claim`; `facts` are printed with them. With `json`,
 * prints one object to standard output.
 */
export function report({ title, facts, claims, json }) {
  const ok = claims.every((claim) => claim.ok);
  if (!ok) process.exitCode = 1;
  if (json) {
    console.log(JSON.stringify({ title, ok, environment: environment(), facts, claims }));
    return;
  }
  console.log(`\n${title}`);
  for (const [name, value] of Object.entries({ ...environment(), ...facts })) {
    console.log(`  ${name.padEnd(24)} ${typeof value === 'object' ? JSON.stringify(value) : value}`);
  }
  for (const { what, found, limit, ok: kept } of claims) {
    console.log(`${kept ? '✓' : '✗'} ${what}: ${found} (${limit})`);
  }
}

/** Rewrites one line if standard error is a terminal; otherwise prints nothing. */
export function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
