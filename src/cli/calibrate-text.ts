import type { Honesty } from '../eval/calibrate.ts';
import type { HumanTally } from '../eval/human.ts';
import { percentText } from '../eval/number-text.ts';
import type { ModeFit, PackFit } from './calibrate-pack.ts';

/** Prints what was fitted as tables. */
export function printFit({ centres, modes, human }: PackFit): void {
  console.log(`${centres} centres`);
  for (const fit of modes) printMode(fit);
  if (human) printHuman(human);
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
    rows.map(({ group, percent, promised, observed, interval, pairs }) => ({
      group,
      percent,
      promised: promised.toPrecision(2),
      observed: observed.toPrecision(2),
      '95 % interval': interval.map((rate) => rate.toPrecision(2)).join(' – '),
      'observed / promised': (observed / promised).toFixed(2),
      pairs,
    })),
  );
}

function printHuman(rows: readonly HumanTally[]): void {
  console.log('The human check, cross-validated over people and pictures, both modes:');
  console.table(
    rows.map(({ set, faces, passed, sources, sources_passed }) => ({
      set,
      faces,
      passed,
      lost: percentText(1 - passed / faces),
      'people or pictures': sources,
      'of them with a face that passed': sources_passed,
    })),
  );
}
