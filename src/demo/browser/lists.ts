import { byId, element } from './dom.ts';
import { detailsOf } from './faces.ts';
import { plainWords } from './problem.ts';
import { thumbnail } from './result.ts';
import type { DetectAnswer, ManyAnswer } from './types.ts';
import { capital, count, scoreText, strangersAlike, warningText } from './words.ts';

/** Answers that are a list: one against many, and the faces of a photo. */

/** `images`: previews of the targets. The best result is first. Returns the text to announce. */
export function showMany(answer: ManyAnswer, images: readonly HTMLImageElement[]): string {
  const { results, matches, warnings } = answer;
  const percentOf = (result: ManyAnswer['results'][number]) =>
    'match' in result ? result.confidence_percent : -1;
  const rows = results
    .toSorted((a, b) => percentOf(b) - percentOf(a))
    .map((result) => {
      const name = element('th', { scope: 'row' }, result.filename ?? `Photo ${result.index + 1}`);
      const image = images[result.index];
      if ('problem' in result) {
        const { title, detail } = result.problem;
        return rowOf(
          undefined,
          name,
          element('td', {}, '–'),
          element('td', {}, plainWords(`${title}. ${detail}`)),
        );
      }
      const { image2, match, warnings } = result;
      const face = image && thumbnail(image, image2, image2.face_index);
      const verdict = `${match ? 'Match' : 'No match'}: ${strangersAlike(result)} strangers look this alike`;
      const percent = element('td', { className: 'digits' }, scoreText(result));
      const about = warnings.map((warning) =>
        element('p', { className: 'hint' }, warningText(warning, 'this photo')),
      );
      const row = rowOf(face, name, percent, element('td', {}, verdict, ...about));
      row.classList.toggle('match', match);
      return row;
    });
  const title = `${matches} of ${count(results.length, 'photo')} match`;
  show(
    title,
    warnings.map((warning) => warningText(warning)),
    ['Face', 'Photo', 'Confidence', 'What it means'],
    rows,
  );
  return `${title}.`;
}

/** `image`: the photo's preview. Returns the text to announce. */
export function showFaces({ image: picture, warnings }: DetectAnswer, image: HTMLImageElement): string {
  const rows = picture.faces.map((face) => {
    const name = element('th', { scope: 'row' }, `Face ${face.index + 1}`);
    const human = face.human_score === undefined ? '–' : face.human_score.toFixed(1);
    return rowOf(
      thumbnail(image, picture, face.index),
      name,
      element('td', { className: 'digits' }, human),
      element('td', {}, capital(detailsOf(face))),
    );
  });
  const title = picture.faces.length === 0 ? 'No face' : count(picture.faces.length, 'face');
  show(
    title,
    warnings.map((warning) => warningText(warning)),
    ['Face', 'Number', 'Human score', 'Details'],
    rows,
  );
  return `${title} found.`;
}

function rowOf(face: HTMLElement | undefined, ...cells: HTMLElement[]): HTMLElement {
  return element('tr', {}, element('td', {}, ...(face ? [face] : [])), ...cells);
}

function show(title: string, warnings: string[], titles: string[], rows: HTMLElement[]): void {
  byId('list-title').textContent = title;
  byId('list-warnings').replaceChildren(...warnings.map((text) => element('li', {}, text)));
  const head = element('tr', {}, ...titles.map((text) => element('th', { scope: 'col' }, text)));
  const table = element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows));
  byId('list').replaceChildren(...(rows.length > 0 ? [table] : []));
  byId('list-result').hidden = false;
}
