import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectPath } from '../../config/paths.ts';
import type { ImageFormat, ImageReport } from '../../engine/addon.ts';
import { Html, html } from '../../site/html.ts';
import type { GroupingFigures } from '../differential.ts';
import { drawFaces } from '../drawing.ts';
import type { Evaluation, PeopleEvaluation, PeopleFigures } from '../evaluate.ts';
import type { Figures } from '../figures.ts';
import { openable } from '../file-names.ts';
import { cohortText, countText, kindTexts, verdictText } from '../number-text.ts';
import { scoreKinds } from '../pairs.ts';
import { type Results, resultsJson } from '../results.ts';
import { differentialTables, setTables, sharedTables, type TextTable } from '../tables.ts';
import {
  detChart,
  failureChart,
  falseMatchChart,
  falseNonMatchChart,
  histogramChart,
  rocChart,
  thresholdChart,
} from './charts.ts';
import { type Gallery, imagesShown, missingView, pairsView } from './pairs.ts';

/** Marks a page as a report. */
export const generator = '<meta name="generator" content="facematch eval">';

/** The page holds file names of others: no script, and nothing loaded from elsewhere (CSP level 3). */
const policy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file: data:; base-uri 'none'; form-action 'none'";

/** The whole page, which loads only the images beside it. `galleries`: one for each set, then for each of people, in order. */
function reportPage(results: Results, galleries: readonly Gallery[], date: Date): string {
  const style = readFileSync(projectPath('dist/src/lab/report/report.css'), 'utf8');
  const { pack, evaluations, people } = results;
  const { mode, cohort } = [...evaluations, ...people][0]!.figures;
  const sets: SetLink[] = [
    ...evaluations.map(({ figures }, index) => ({ id: `set-${index + 1}`, name: figures.set })),
    ...people.map(({ figures }, index) => ({ id: `people-${index + 1}`, name: figures.set })),
  ];
  const hasAll = evaluations.length > 1;
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
${new Html(generator)}
<title>facematch eval: ${sets.map(({ name }) => name).join(', ')}</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
<header>
<h1>How well faces are matched</h1>
<p>Pack ${pack.name} ${pack.version}, mode ${mode}, <time datetime="${date.toISOString()}">${date.toISOString().slice(0, 10)}</time>. Cohort: ${cohortText[cohort]}.</p>
<p class="private">This folder holds copies of photos: protect it as you protect them. The figures as JSON: <a href="figures.json">figures.json</a></p>
${sets.length > 1 ? contents(sets, hasAll) : undefined}
</header>
<main>
${hasAll ? allSets(results) : undefined}
${evaluations.map(({ figures }, index) => setView(figures, sets[index]!.id, galleries[index]!))}
${people.map(({ figures }, index) => {
  const at = evaluations.length + index;
  return peopleView(figures, sets[at]!.id, galleries[at]!);
})}
</main>
</html>
`.text;
}

interface SetLink {
  id: string;
  name: string;
}

function contents(sets: readonly SetLink[], hasAll: boolean): Html {
  const all = hasAll ? html`<li><a href="#all">All sets</a></li>` : undefined;
  return html`<nav aria-label="Sets"><ul>${all}${sets.map(
    ({ id, name }) => html`<li><a href="#${id}"><bdi>${name}</bdi></a></li>`,
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
${thresholdChart('normalised', sets)}
${thresholdChart('cosine', sets)}
${detChart(curves)}
</div>
${sharedTables(shared_thresholds, sets).map(tableView)}
</section>
`;
}

/** One set: figures, curves, thresholds and the worst pairs. `id` is unique in the page. */
function setView(figures: Figures, id: string, gallery: Gallery): Html {
  const { set, by, pairs, worst } = figures;
  const [accuracy, ...thresholds] = setTables(figures);
  const curves = scoreKinds.map((kind) => ({
    name: kindTexts[kind],
    figures: by[kind],
    pairs,
  }));
  return html`<section id="${id}" aria-labelledby="${id}-name">
<h2 id="${id}-name"><bdi>${set}</bdi></h2>
<p><strong>${verdictText(figures, false)}</strong></p>
<p>${countText(pairs.same)} pairs of one person, ${countText(pairs.different)} of different people, ${countText(figures.pictures)} pictures;
${countText(figures.without_face.length)} without a face, ${countText(Object.keys(figures.failures).length)} that could not be read. A pair that lacks a face counts as no match.</p>
${tableView(accuracy!)}
<div class="charts">
${detChart(curves)}
${rocChart(curves)}
${histogramChart('normalised', by.normalised)}
${histogramChart('cosine', by.cosine)}
</div>
${thresholds.map(tableView)}
${pairsView('Different people who look most alike', worst.different, gallery)}
${pairsView('One person who looks least alike', worst.same, gallery)}
${missingView(figures, gallery)}
</section>
`;
}

/** One set of labelled people: rates by group, and the worst pairs. `id` is unique in the page. */
function peopleView(figures: PeopleFigures, id: string, gallery: Gallery): Html {
  const { set, everybody, groupings, same_person_above, worst } = figures;
  return html`<section id="${id}" aria-labelledby="${id}-name">
<h2 id="${id}-name">Differential performance: <bdi>${set}</bdi></h2>
<p>${countText(everybody.people)} people, ${countText(everybody.pictures)} pictures. Rates are in the terms of ISO/IEC 19795-10, with confidence intervals of 95 % by person.
Strangers of a group are two people of that group (within-group, non-mated). Two people of different groups (cross-group) look less alike: they are only among the strangers of the whole set.
Pairs of one person (mated) are counted where both pictures are of the group and have a face.</p>
${
  same_person_above === undefined
    ? undefined
    : html`<p>Pictures of two people with a cosine above ${same_person_above} were taken for one person's, and counted neither as strangers nor as one person.</p>`
}
${groupings.length === 0 ? groupingView(figures, undefined) : groupings.map((one) => groupingView(figures, one))}
${pairsView(groupings.length === 0 ? 'Different people who look most alike' : 'Different people of one group who look most alike', worst.different, gallery)}
${pairsView('One person who looks least alike', worst.same, gallery)}
${missingView(figures, gallery)}
</section>
`;
}

function groupingView(figures: PeopleFigures, grouping: GroupingFigures | undefined): Html {
  const groups = [figures.everybody, ...(grouping?.groups ?? [])];
  const tables = differentialTables(figures, grouping);
  const hasMated = groups.some(({ by_percent }) => by_percent[0]!.false_non_match.trials > 0);
  return html`${grouping && html`<h3>By <bdi>${grouping.grouping}</bdi></h3>`}
<div class="charts">
${falseMatchChart(groups)}
${hasMated ? falseNonMatchChart(groups) : undefined}
${failureChart(groups)}
</div>
${tables.map(tableView)}
`;
}

/** A table that scrolls on small screens, also by keyboard. */
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
/** Names of copies are made from their content, because an image's own name may be anything. */
const copyName = /^[0-9a-f]{16}\.(?:jpg|png|svg|webp)$/;

/** A folder with index.html, figures.json and pictures/, which can be moved as a whole. */
export class ReportFolder {
  readonly page: string;
  readonly #folder: string;
  readonly #images: string;
  /** Names of the copies that this report shows. */
  readonly #shown = new Set<string>();

  /** Makes the folder. Throws an Error with a message for people when that fails or the folder holds other files. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#images = join(folder, 'pictures');
    this.page = join(folder, 'index.html');
    try {
      mkdirSync(folder, { recursive: true });
    } catch (error) {
      throw new Error(`The folder ${folder} cannot be made (${(error as NodeJS.ErrnoException).code})`);
    }
    const isReport = existsSync(this.page) && readFileSync(this.page, 'utf8').includes(generator);
    if (readdirSync(folder).length > 0 && !isReport) {
      throw new Error(`${folder} holds files that are not a report: choose an empty or new folder`);
    }
  }

  write(results: Results, date: Date): void {
    mkdirSync(this.#images, { recursive: true });
    const galleries = [...results.evaluations, ...results.people].map((one) => this.#gallery(one));
    writeFileSync(this.page, reportPage(results, galleries, date));
    writeFileSync(join(this.#folder, 'figures.json'), `${resultsJson(results)}\n`);
    // Removes copies of an earlier report that this one does not show: they are photos of people.
    for (const name of readdirSync(this.#images)) {
      if (copyName.test(name) && !this.#shown.has(name)) rmSync(join(this.#images, name));
    }
  }

  /** Copies the images of a set that the page shows. */
  #gallery(evaluation: Evaluation | PeopleEvaluation): Gallery {
    const { set, figures, images } = evaluation;
    return new Map(
      imagesShown(figures).map((name) => {
        const { image, faces, chosen } = images.get(name)!;
        // Images that are shown could be read.
        const link = `pictures/${this.#copy(join(set.folder, name), image!)}`;
        return [name, { image: image!, faces, chosen, link }];
      }),
    );
  }

  /** Copies an image. Returns the name of the copy, a hash of its content. */
  #copy(file: string, image: Omit<ImageReport, 'faces'>): string {
    const { bytes, extension } = displayable(readFileSync(openable(file)), image);
    const name = `${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}.${extension}`;
    if (!this.#shown.has(name)) writeFileSync(join(this.#images, name), bytes);
    this.#shown.add(name);
    return name;
  }
}

/** Not every browser applies the EXIF orientation of PNG and WebP: such an image is copied into an SVG that turns it upright. */
function displayable(bytes: Uint8Array, image: Omit<ImageReport, 'faces'>) {
  const { format, orientation } = image;
  if (format === 'jpeg' || orientation === 1) return { bytes, extension: extensions[format] };
  return { bytes: drawFaces(bytes, { ...image, faces: [] }), extension: 'svg' };
}
