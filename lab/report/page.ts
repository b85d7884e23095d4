import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, drawFaces, Html, html, type ImageFormat, openable, sha256 } from 'facematch/for-lab';
import type { GroupingFigures } from '../differential.ts';
import {
  type Evaluation,
  type PeopleEvaluation,
  type PeopleFigures,
  type Results,
  resultsJson,
} from '../evaluate.ts';
import type { Figures } from '../figures.ts';
import { cohortText, countText, intervalText, kindTexts, percentText, scoreText } from '../number-text.ts';
import { scoreKinds } from '../pairs.ts';
import { differentialTables, setTables, sharedTables, type TextTable, verdictText } from '../tables.ts';
import { failureChart, falseMatchChart, falseNonMatchChart } from './group-charts.ts';
import { type Gallery, imagesShown, missingView, pairsView } from './pairs.ts';
import { detChart, histogramChart, rocChart, thresholdChart } from './score-charts.ts';

/** Marks a page as a report. */
export const generator = '<meta name="generator" content="facematch eval">';

/**
 * Content Security Policy of the page. File names are untrusted input, so it blocks scripts and other origins.
 */
const policy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file: data:; base-uri 'none'; form-action 'none'";

/**
 * Returns the page, which loads only the images in its folder. `galleries` has one entry per set of pairs, and then
 * one per set of people.
 */
function reportPage(results: Results, galleries: readonly Gallery[], date: Date): string {
  const style = readFileSync(new URL('report.css', import.meta.url), 'utf8');
  const { pack, evaluations, people } = results;
  const all = [...evaluations, ...people].map(({ figures }) => figures);
  const { mode, cohort } = all[0]!;
  const idOf = (i: number) =>
    i < evaluations.length ? `set-${i + 1}` : `people-${i - evaluations.length + 1}`;
  const sections = all.map((figures, i) =>
    'by' in figures ? setView(figures, idOf(i), galleries[i]!) : peopleView(figures, idOf(i), galleries[i]!),
  );
  const hasAll = evaluations.length > 1;
  const links = all.map(({ set }, i) => html`<li><a href="#${idOf(i)}"><bdi>${set}</bdi></a></li>`);
  const contents = html`<nav aria-label="Sets"><ul>${hasAll ? html`<li><a href="#all">All sets</a></li>` : undefined}${links}</ul></nav>`;
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
${new Html(generator)}
<title>facematch eval: ${all.map(({ set }) => set).join(', ')}</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
<header>
<h1>Face match accuracy</h1>
<p>Pack ${pack.name} ${pack.version}, mode ${mode}, <time datetime="${date.toISOString()}">${date.toISOString().slice(0, 10)}</time>. Cohort: ${cohortText[cohort]}.</p>
<p class="private">This folder contains copies of the photos: protect it like the originals. Figures as JSON: <a href="figures.json">figures.json</a></p>
${all.length > 1 ? contents : undefined}
</header>
<main>
${hasAll ? allSets(results) : undefined}
${sections}
</main>
</html>
`.text;
}

function allSets({ evaluations, shared_thresholds }: Results): Html {
  const sets = evaluations.map(({ figures }) => figures);
  const curves = sets.map(({ set, by, pairs }) => ({ name: set, figures: by.normalised, pairs }));
  return html`<section id="all" aria-labelledby="all-name">
<h2 id="all-name">All sets</h2>
<p>Where the falling lines of two sets differ, the same threshold gives them different false match rates.</p>
<div class="charts">
${thresholdChart('normalised', sets)}
${thresholdChart('cosine', sets)}
${detChart(curves)}
</div>
${sharedTables(shared_thresholds, sets).map(tableView)}
</section>
`;
}

/** Shows one set of pairs: figures, curves, thresholds and the worst pairs. `id` is unique on the page. */
function setView(figures: Figures, id: string, gallery: Gallery): Html {
  const { set, by, pairs, worst } = figures;
  const [accuracy, ...thresholds] = setTables(figures);
  const curves = scoreKinds.map((kind) => ({ name: kindTexts[kind], figures: by[kind], pairs }));
  return html`<section id="${id}" aria-labelledby="${id}-name">
<h2 id="${id}-name"><bdi>${set}</bdi></h2>
<p><strong>${verdictText(figures, false)}</strong></p>
${alikeView(figures)}<p>${countText(pairs.mated)} mated pairs (same person), ${countText(pairs.non_mated)} non-mated pairs (different people), ${countText(figures.images)} images;
${countText(figures.without_face.length)} without a face (failure-to-acquire rate ${percentText(figures.failure_to_acquire.rate)} ${intervalText(figures.failure_to_acquire.interval)}), ${countText(Object.keys(figures.failures).length)} that could not be read. The false match rate (FMR) and the false non-match rate (FNMR) include only completed comparisons (ISO/IEC 19795-1). ${countText(figures.not_acquired.mated)} mated and ${countText(figures.not_acquired.non_mated)} non-mated pairs have an image without a face: the false accept rate (FAR) and the false reject rate (FRR) count them as rejected. All rates exclude ${countText(figures.not_compared)} pairs with an image that could not be read.</p>
${tableView(accuracy!)}
<div class="charts">
${detChart(curves)}
${rocChart(curves)}
${histogramChart('normalised', by.normalised)}
${histogramChart('cosine', by.cosine)}
</div>
${thresholds.map(tableView)}
${pairsView('Non-mated pairs with the highest scores', worst.non_mated, gallery)}
${pairsView('Mated pairs with the lowest scores', worst.mated, gallery)}
${missingView(figures, gallery)}
</section>
`;
}

/** Shows one set of labelled people: rates by group, and the worst pairs. `id` is unique on the page. */
function peopleView(figures: PeopleFigures, id: string, gallery: Gallery): Html {
  const { set, everybody, groupings, same_person_above, worst } = figures;
  const nonMated = `Non-mated pairs${groupings.length === 0 ? '' : ' of one group'} with the highest scores`;
  return html`<section id="${id}" aria-labelledby="${id}-name">
<h2 id="${id}-name">Differential performance: <bdi>${set}</bdi></h2>
${alikeView(figures)}<p>${countText(everybody.people)} people, ${countText(everybody.images)} images. The rates follow ISO/IEC 19795-10; their 95 % intervals are clustered by person.
Non-mated pairs of a group show two people of that group (within-group). Pairs of people of different groups (cross-group) are easier to tell apart, and count only in the rates of the whole set.
Mated pairs (the same person) count if both images belong to the group and have a face.</p>
${
  same_person_above === undefined
    ? undefined
    : html`<p>All rates exclude non-mated pairs with a cosine above ${same_person_above}, which probably show one person.</p>`
}
${(groupings.length === 0 ? [undefined] : groupings).map((one) => groupingView(figures, one))}
${pairsView(nonMated, worst.non_mated, gallery)}
${pairsView('Mated pairs with the lowest scores', worst.mated, gallery)}
${missingView(figures, gallery)}
</section>
`;
}

function alikeView({ too_alike }: Pick<Figures, 'too_alike'>): Html | undefined {
  if (too_alike.length === 0) return undefined;
  return html`<p>Non-mated pairs omitted because they are too similar (copies, or one person under two names):</p>
<ul>${too_alike.map(({ image1, image2, cosine }) => html`<li><bdi>${image1}</bdi>, <bdi>${image2}</bdi>: ${scoreText(cosine)}</li>`)}</ul>
`;
}

function groupingView(figures: PeopleFigures, grouping: GroupingFigures | undefined): Html {
  const groups = [figures.everybody, ...(grouping?.groups ?? [])];
  const hasMated = groups.some(({ by_percent }) => by_percent[0]!.fnmr.trials > 0);
  return html`${grouping && html`<h3>By <bdi>${grouping.grouping}</bdi></h3>`}
<div class="charts">
${falseMatchChart(groups)}
${hasMated ? falseNonMatchChart(groups) : undefined}
${failureChart(groups)}
</div>
${differentialTables(figures, grouping).map(tableView)}
`;
}

/** Returns a table that scrolls on small screens, and is focusable so that the keyboard can scroll it. */
function tableView({ title: caption, head, rows }: TextTable): Html {
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table>
<caption><span>${caption}</span></caption>
<thead><tr>${head.map((title) => html`<th scope="col">${title}</th>`)}</tr></thead>
<tbody>${rows.map(
    ([first, ...cells]) =>
      html`<tr><th scope="row">${first}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>
`,
  )}</tbody>
</table></div>
`;
}

const extensions: Readonly<Record<ImageFormat, string>> = { jpeg: 'jpg', png: 'png', webp: 'webp' };
/** Copies are named by a hash of their content, because the original names may be unsafe in a path or URL. */
const copyName = /^[0-9a-f]{16}\.(?:jpg|png|svg|webp)$/;

/**
 * Creates a self-contained folder for index.html, figures.json and images/. Throws an Error whose message is meant
 * for the user if that fails or the folder contains other files.
 */
export function openReport(folder: string) {
  const page = join(folder, 'index.html');
  const copies = join(folder, 'images');
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw new Error(`Cannot create the folder ${folder} (${codeOf(error)})`);
  }
  const isReport = existsSync(page) && readFileSync(page, 'utf8').includes(generator);
  if (readdirSync(folder).length > 0 && !isReport) {
    throw new Error(`${folder} contains files that are not a report: choose an empty or new folder`);
  }
  const write = (results: Results, date: Date) => {
    mkdirSync(copies, { recursive: true });
    const galleries = [...results.evaluations, ...results.people].map((one) => galleryOf(one, copies));
    writeFileSync(page, reportPage(results, galleries, date));
    writeFileSync(join(folder, 'figures.json'), `${resultsJson(results)}\n`);
    // Removes an earlier report's photos that the new report does not show, because they are personal data.
    const shown = new Set(galleries.flatMap((gallery) => [...gallery.values()].map(({ link }) => link)));
    for (const name of readdirSync(copies)) {
      if (copyName.test(name) && !shown.has(`images/${name}`)) rmSync(join(copies, name));
    }
  };
  return { page, write };
}

/** Copies the images of a set that the page shows. */
function galleryOf({ set, figures, images }: Evaluation | PeopleEvaluation, copies: string): Gallery {
  return new Map(
    imagesShown(figures).map((name) => {
      const { image, faces, chosen } = images.get(name)!;
      // Only readable images are shown, so `image` is defined.
      const { format, orientation } = image!;
      const file = readFileSync(openable(join(set.folder, name)));
      // Browsers apply the EXIF orientation of JPEG, but some ignore it in PNG and WebP. An SVG rotates these.
      const isUpright = format === 'jpeg' || orientation === 1;
      const bytes = isUpright ? file : drawFaces(file, { ...image!, faces: [] });
      const copy = `${sha256(Buffer.from(bytes)).slice(0, 16)}.${isUpright ? extensions[format] : 'svg'}`;
      writeFileSync(join(copies, copy), bytes);
      return [name, { image: image!, faces, chosen, link: `images/${copy}` }];
    }),
  );
}
