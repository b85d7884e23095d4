import { readFileSync } from 'node:fs';
import { Html, html } from '../../html.ts';
import { projectPath } from '../../paths.ts';
import type { CohortUse, Figures } from '../figures.ts';
import { countText, kindTexts } from '../number-text.ts';
import { scoreKinds } from '../pairs.ts';
import type { Results } from '../results.ts';
import { chartView } from './chart.ts';
import { detChart, histogramChart, rocChart, thresholdChart } from './charts.ts';
import { type Gallery, imagesView, pairsView } from './pairs.ts';
import { sharedTable, summaryTable, thresholdTable } from './tables.ts';

/** Marks a page as a report. */
export const generator = '<meta name="generator" content="facematch eval">';

/** The page holds file names of others: no script, and nothing loaded from elsewhere (CSP level 3). */
const policy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file: data:; base-uri 'none'; form-action 'none'";

const cohortText: Readonly<Record<CohortUse, string>> = {
  pack: "Normalised similarities use the pack's cohort: figures of people that it was made of are biased.",
  'held-out': 'Normalised similarities use cohorts that were refitted without the people of each pair.',
  none: 'The pack has no cohort: the normalised similarity is the cosine.',
};

/** The whole page, which loads only the images beside it. `galleries`: one for each set, in order. */
export function reportPage(results: Results, galleries: readonly Gallery[], date: Date): string {
  const style = readFileSync(projectPath('src/eval/report/report.css'), 'utf8');
  const { pack, evaluations } = results;
  const { mode, cohort } = evaluations[0]!.figures;
  const names = evaluations.map(({ figures }) => figures.set);
  const several = evaluations.length > 1;
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
${new Html(generator)}
<title>facematch eval: ${names.join(', ')}</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
<header>
<h1>How well faces are matched</h1>
<p>Pack ${pack.name} ${pack.version}, mode ${mode}, <time datetime="${date.toISOString()}">${date.toISOString().slice(0, 10)}</time>. ${cohortText[cohort]}</p>
<p class="private">This folder holds copies of photos: protect it as you protect them. The figures as JSON: <a href="figures.json">figures.json</a></p>
${several ? contents(names) : undefined}
</header>
<main>
${several ? allSets(results) : undefined}
${evaluations.map(({ figures }, index) => setView(figures, `set-${index + 1}`, galleries[index]!))}
</main>
</html>
`.text;
}

function contents(names: readonly string[]): Html {
  return html`<nav aria-label="Sets"><ul><li><a href="#all">All sets</a></li>${names.map(
    (name, index) => html`<li><a href="#set-${index + 1}"><bdi>${name}</bdi></a></li>`,
  )}</ul></nav>`;
}

/** Shows whether one threshold serves all sets. */
function allSets({ evaluations, shared_thresholds }: Results): Html {
  const sets = evaluations.map(({ figures }) => figures);
  const curves = sets.map(({ set, by, pairs }) => ({ name: set, figures: by.normalised, pairs }));
  return html`<section id="all" aria-labelledby="all-name">
<h2 id="all-name">All sets</h2>
<p>Where the falling lines of two sets differ, one threshold accepts more strangers of one set than of the other.</p>
<div class="charts">
${chartView(thresholdChart('all-normalised', 'normalised', sets))}
${chartView(thresholdChart('all-cosine', 'cosine', sets))}
${chartView(detChart('all-det', curves))}
</div>
${sharedTable('normalised', shared_thresholds)}
${sharedTable('cosine', shared_thresholds)}
</section>
`;
}

/** One set: figures, curves, thresholds and the worst pairs. `id` is unique in the page. */
function setView(figures: Figures, id: string, gallery: Gallery): Html {
  const { set, by, pairs, worst, without_face, failures } = figures;
  const curves = scoreKinds.map((kind) => ({
    name: kindTexts[kind],
    figures: by[kind],
    pairs,
  }));
  const unread = Object.entries(failures);
  return html`<section id="${id}" aria-labelledby="${id}-name">
<h2 id="${id}-name"><bdi>${set}</bdi></h2>
${summaryTable(figures)}
<div class="charts">
${chartView(detChart(`${id}-det`, curves))}
${chartView(rocChart(`${id}-roc`, curves))}
${chartView(histogramChart(`${id}-normalised`, 'normalised', by.normalised))}
${chartView(histogramChart(`${id}-cosine`, 'cosine', by.cosine))}
</div>
${thresholdTable(figures)}
${pairsView('Different people who look most alike', worst.different, gallery)}
${pairsView('One person who looks least alike', worst.same, gallery)}
<h3>Pictures without a face</h3>
${without_face.length === 0 ? html`<p>None.</p>` : withoutFace(without_face, gallery)}
${
  unread.length === 0
    ? undefined
    : html`<h3>Pictures that could not be read</h3>
<ul>${unread.map(([name, reason]) => html`<li><bdi>${name}</bdi>: <code>${reason}</code></li>`)}</ul>`
}
</section>
`;
}

/** Most images without a face that are shown; further ones are only named. */
const mostShown = 24;

/** The names of the images of a set that the page shows. */
export function imagesShown({ worst, without_face }: Figures): string[] {
  const pairs = [...worst.different, ...worst.same].flatMap(({ image1, image2 }) => [image1, image2]);
  return [...new Set([...pairs, ...without_face.slice(0, mostShown)])];
}

function withoutFace(names: readonly string[], gallery: Gallery): Html {
  const rest = names.slice(mostShown);
  const named = html`<details><summary>${countText(rest.length)} more</summary><ul>${rest.map((name) => html`<li><bdi>${name}</bdi></li>`)}</ul></details>`;
  return html`${imagesView(names.slice(0, mostShown), gallery)}${rest.length > 0 ? named : undefined}`;
}
