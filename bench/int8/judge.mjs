// What a net is worth beside another: time, direction of its embeddings, and how well they tell people apart.
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { accuracy, tarAtFmr } from '../../dist/src/eval/metrics.js';
import { sessionOptions } from '../contenders/nets/sessions.mjs';
import { median } from '../results/statistics.mjs';

export function cosine(a, b) {
  let [dot, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return dot / Math.sqrt(aa * bb);
}

export async function open(bytes, shape) {
  const session = await InferenceSession.create(bytes, sessionOptions);
  const [name] = session.inputNames;
  return (input) => session.run({ [name]: new Tensor('float32', input, shape) });
}

/** Embeddings of all inputs, which are made one at a time. */
export async function embedAll(run, chips, inputOf) {
  const embeddings = [];
  for (const chip of chips) embeddings.push((await run(inputOf(chip))).output.data);
  return embeddings;
}

/** By plain cosine, all in percent. A pair without two chips never matches. */
export function judge({ pairs, chips }, embeddings) {
  const of = new Map(chips.map(({ name }, index) => [name, embeddings[index]]));
  const scored = pairs.map(({ image1, image2, same, fold }) => {
    const [a, b] = [of.get(image1), of.get(image2)];
    return { same, fold, score: a && b ? cosine(a, b) : Number.NEGATIVE_INFINITY };
  });
  return {
    accuracy: 100 * accuracy(scored).mean,
    tar_1e2: 100 * tarAtFmr(scored, 1e-2).tar,
    tar_1e3: 100 * tarAtFmr(scored, 1e-3).tar,
  };
}

/**
 * The nets take turns, run by run, in an order that is another each round. Answers for each { ms, ratio }: the median
 * time, and the median over the rounds of its time over that of the first.
 */
export async function race(runs, inputs, rounds) {
  const times = runs.map(() => []);
  for (let round = -3; round < rounds; round++) {
    const input = inputs[(round + 3) % inputs.length];
    for (let turn = 0; turn < runs.length; turn++) {
      const index = (turn + round + 3) % runs.length;
      const begin = performance.now();
      await runs[index](input);
      if (round >= 0) times[index].push(performance.now() - begin);
    }
  }
  return times.map((own) => ({ ms: median(own), ratio: median(own.map((time, i) => time / times[0][i])) }));
}
