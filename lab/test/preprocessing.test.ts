import { expect, test } from 'vitest';
import { t95 } from '../metrics.ts';
import { isBetter } from '../packs/preprocessing-trial.ts';

/** Tests the comparison of two input scalings of an embedder. */

test.each([
  [10, 2.2281],
  [19, 2.093],
  [99, 1.9842],
  [1e6, 1.96],
])("returns the quantile of Student's t distribution with %i degrees of freedom", (degrees, quantile) => {
  expect(Math.abs(t95(degrees) - quantile)).toBeLessThan(1e-3);
});

test.each([
  [2.05, false],
  [2.13, true],
])(
  'considers a scaling better if the mean gain of 20 pairs is %d standard errors: %s',
  (errors, expected) => {
    const current = Array<number>(20).fill(1);
    // The differences have the mean `errors` and the standard error 1.
    const spread = Math.sqrt(19);
    const best = current.map((height, i) => height + errors + (i % 2 === 0 ? spread : -spread));
    expect(isBetter(best, current)).toBe(expected);
  },
);
