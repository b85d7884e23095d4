// Speed is worth nothing where the answers are wrong: every contender is asked before it is loaded.
import { readFileSync } from 'node:fs';
import { form } from '../lib/form.mjs';
import { kindsIn, path } from '../scenarios/index.mjs';
import { pairsOf } from '../scenarios/pictures.mjs';

/** Of the pairs asked; a face that one detector misses is no nonsense. */
const least_right = 0.75;

async function ask({ address, key }, files, mode) {
  const [image1, image2] = files.map((file) => readFileSync(file));
  const { body, content_type } = form({ image1, image2, accuracy_mode: mode });
  const response = await fetch(address + path, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': content_type },
    body,
  });
  const answer = await response.text();
  return response.status === 200 ? JSON.parse(answer).match : undefined;
}

/**
 * Asks the first `count` pairs of the scenario's first kind of picture. Answers { asked, right, no_answer, sensible }, where
 * sensible means that most are right, among them a match of one person and a mismatch of two.
 */
export async function check(server, scenario, mode, count) {
  if (scenario.startsWith('refused')) return { asked: 0, right: 0, no_answer: 0, sensible: true };
  const pairs = (await pairsOf(kindsIn(scenario)[0])).pairs.slice(0, count);
  const answers = [];
  for (const { same, files } of pairs) answers.push({ same, match: await ask(server, files, mode) });
  const right = answers.filter(({ same, match }) => match === same);
  return {
    asked: answers.length,
    right: right.length,
    no_answer: answers.filter(({ match }) => match === undefined).length,
    sensible:
      right.length >= least_right * answers.length &&
      right.some(({ same }) => same) &&
      right.some(({ same }) => !same),
  };
}
