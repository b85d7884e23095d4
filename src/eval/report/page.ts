import { readFileSync } from 'node:fs';
import { Html, html } from '../../html.ts';
import { projectPath } from '../../paths.ts';
import type { CohortUse } from '../figures.ts';
import type { Results } from '../results.ts';
import { chartView } from './chart.ts';
import { detChart } from './curves.ts';
import type { Gallery } from './pair-view.ts';
import { thresholdChart } from './score-charts.ts';
import { setView } from './set-view.ts';
import { sharedTable } from './tables.ts';

/** By which a folder's page is known to be a report. */
export const generator = '<meta name="generator" content="facematch eval">';

const styles = ['page.css', 'chart.css', 'pair.css'] as const;

/** What is asked of the browser for a page that holds text of strangers: no script, nothing from elsewhere (CSP level 3). */
const policy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file: data:; base-uri 'none'; form-action 'none'";

/** The whole page: no script, nothing loaded but the pictures beside it. `galleries` are those of the sets, in their order. */
export function reportPage(results: Results, galleries: readonly Gallery[], date: Date): string {
  const style = styles.map((name) => readFileSync(projectPath(`src/eval/report/${name}`), 'utf8')).join('\n');
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
<p class="private">This folder holds copies of photos: keep it as you keep them. The figures as JSON: <a href="figures.json">figures.json</a></p>
${several ? contents(names) : undefined}
</header>
<main>
${several ? allSets(results) : undefined}
${evaluations.map((evaluation, index) => setView(evaluation, setId(index), galleries[index]!))}
</main>
</html>
`.text;
}

const cohortText: Readonly<Record<CohortUse, string>> = {
  pack: "Normalised similarities use the pack's cohort: of people whom it was made of they are bent.",
  'held-out': 'Normalised similarities use cohorts that were refitted without the people of each pair.',
  none: 'The pack has no cohort: the normalised similarity is the cosine.',
};

const setId = (index: number) => `set-${index + 1}`;

function contents(names: readonly string[]): Html {
  return html`<nav aria-label="Sets"><ul><li><a href="#all">All sets</a></li>${names.map(
    (name, index) => html`<li><a href="#${setId(index)}"><bdi>${name}</bdi></a></li>`,
  )}</ul></nav>`;
}

/** Whether one threshold serves all. */
function allSets({ evaluations, shared_thresholds }: Results): Html {
  const sets = evaluations.map(({ figures }) => figures);
  const curves = sets.map(({ set, by, pairs }, series) => ({
    name: set,
    series,
    figures: by.normalised,
    pairs,
  }));
  return html`<section id="all" aria-labelledby="all-name">
<h2 id="all-name">All sets</h2>
<p>Where the falling lines of two sets lie apart, one threshold lets more strangers of one set through than of the other.</p>
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
