import { type Html, html } from '../../site/html.ts';
import type { Figures } from '../figures.ts';
import { countText } from '../number-text.ts';
import { type Gallery, imagesView } from './pairs.ts';

/** Most images without a face that are shown; further ones are only named. */
const mostShown = 24;

/** The names of the images of a set that the page shows. */
export function imagesShown({ worst, without_face }: Pick<Figures, 'worst' | 'without_face'>): string[] {
  const pairs = [...worst.different, ...worst.same].flatMap(({ image1, image2 }) => [image1, image2]);
  return [...new Set([...pairs, ...without_face.slice(0, mostShown)])];
}

/** Images without a face, and those that could not be read. */
export function missingView(
  { without_face, failures }: Pick<Figures, 'without_face' | 'failures'>,
  gallery: Gallery,
): Html {
  const unread = Object.entries(failures);
  return html`<h3>Pictures without a face</h3>
${without_face.length === 0 ? html`<p>None.</p>` : withoutFace(without_face, gallery)}
${
  unread.length === 0
    ? undefined
    : html`<h3>Pictures that could not be read</h3>
<ul>${unread.map(([name, reason]) => html`<li><bdi>${name}</bdi>: <code>${reason}</code></li>`)}</ul>`
}`;
}

function withoutFace(names: readonly string[], gallery: Gallery): Html {
  const rest = names.slice(mostShown);
  const named = html`<details><summary>${countText(rest.length)} more</summary><ul>${rest.map((name) => html`<li><bdi>${name}</bdi></li>`)}</ul></details>`;
  return html`${imagesView(names.slice(0, mostShown), gallery)}${rest.length > 0 ? named : undefined}`;
}
