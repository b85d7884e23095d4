// Embedders in whole numbers that were thought of, each written from the net as published.
import { decodeModel, encodeModel } from '../../dist/models/prepare/graph.js';
import {
  openForQuantising,
  quantiseMost,
  quantiseNet,
  spellOut,
} from '../../dist/models/prepare/int8/index.js';
import { decodeFactors } from '../../dist/models/prepare/int8/plan.js';
import { quantise } from '../../dist/models/prepare/int8/quantise.js';
import { factorsFor } from './equalise.mjs';
import { histogramsOf, rangeRules, widthsOf } from './ranges.mjs';

/** The convolutions, by the name of what they make, whose error weighs most: the first two, and the last three. */
const sensitive = ['518', '521', '659', '662', '665'];

const everything = { has: () => true };
const defaults = { equalised: false, floats: [], rule: 'mse' };

/** `wants`: those convolutions alone, with PReLUs as the default pack has them. */
export const variants = {
  pointwise: { wants: ({ opType }, conv) => opType === 'Conv' && conv.kind === 'pointwise', equalised: true },
  all: {},
  'all; equalised': { equalised: true },
  'all but five; equalised; min-max': { equalised: true, floats: sensitive, rule: 'minmax' },
  'all but five; equalised; 99.99 %': { equalised: true, floats: sensitive, rule: 'percentile 99.99' },
  'all but five; equalised': { equalised: true, floats: sensitive },
};

/** The one that the pack int8 is made of. */
export const chosen = 'all but five; equalised';

/** `inputs` are those that plans are fitted on. Answers { planOf(variant), write(variant) }. */
export async function planner(published, inputs, shape) {
  const base = () => openForQuantising(published);
  const factors = factorsFor(base().graph, await widthsOf(encodeModel(base()), inputs, shape));
  const known = new Map();

  /** The float net that the variant is made of, with a histogram of each tensor. */
  async function floatNet({ equalised, floats, wants }) {
    const key = JSON.stringify([equalised, floats, wants === undefined]);
    if (!known.has(key)) {
      const model = base();
      const own = equalised ? Object.entries(factors) : [];
      const decoded = new Map(own.map(([name, text]) => [name, decodeFactors(text)]));
      spellOut(model.graph, decoded, wants ? everything : new Set(floats));
      const bytes = encodeModel(model);
      known.set(key, { bytes, histograms: await histogramsOf(bytes, inputs, shape) });
    }
    return known.get(key);
  }

  async function planOf(variant) {
    const { equalised, floats, rule } = { ...defaults, ...variant };
    const { bytes, histograms } = await floatNet({ equalised, floats });
    const ranges = {};
    const rangeOf = (name) => {
      ranges[name] ??= rangeRules[rule](histograms.get(name)).map((value) => Number(value.toPrecision(6)));
      return ranges[name];
    };
    quantiseMost(decodeModel(bytes).graph, rangeOf, new Set(floats));
    return { floats, factors: equalised ? factors : {}, ranges };
  }

  async function write(variant) {
    const all = { ...defaults, ...variant };
    if (!all.wants) return quantiseNet(published, await planOf(variant));
    const { bytes, histograms } = await floatNet(all);
    return quantised(bytes, histograms, all);
  }
  return { planOf, write };
}

/** `bytes` with all that is wanted in whole numbers. */
export function quantised(bytes, histograms, { rule, wants }) {
  const model = decodeModel(bytes);
  quantise(model.graph, (tensor) => rangeRules[rule](histograms.get(tensor)), wants);
  return encodeModel(model);
}
