import type { Honesty } from '../eval/calibrate.ts';
import type { ModeFit, PackFit } from './calibrate-pack.ts';

/** Prints what was fitted as tables. */
export function printFit({ centres, modes }: PackFit): void {
  console.log(`${centres} centres`);
  for (const fit of modes) printMode(fit);
}

function printMode({ mode, points, check }: ModeFit): void {
  console.log(`${mode}:`);
  console.table(points.map(([similarity, false_match_rate]) => ({ similarity, false_match_rate })));
  if (!check) return;
  printHonesty(`${mode}, with the cohort`, check.with_cohort);
  printHonesty(`${mode}, without it`, check.without_cohort);
}

function printHonesty(title: string, rows: readonly Honesty[]): void {
  console.log(`Cross-validated over people, ${title}:`);
  console.table(
    rows.map(({ set, percent, promised, observed, interval, pairs }) => ({
      set,
      percent,
      promised: promised.toPrecision(2),
      observed: observed.toPrecision(2),
      '95 % interval': interval.map((rate) => rate.toPrecision(2)).join(' – '),
      'observed / promised': (observed / promised).toFixed(2),
      pairs,
    })),
  );
}
