import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Evaluation } from '../evaluate.ts';
import { type Results, resultsJson } from '../results.ts';
import { generator, reportPage } from './page.ts';
import type { Gallery } from './pair-view.ts';
import { PictureFolder } from './picture-folder.ts';
import { picturesShown } from './set-view.ts';

/** A folder with index.html, figures.json and pictures/, which can be moved as a whole. */
export class ReportFolder {
  readonly page: string;
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
    this.page = join(folder, 'index.html');
  }

  /** Makes the folder. Throws an Error with a message for people when that fails or it holds something else than a report. */
  static open(folder: string): ReportFolder {
    try {
      mkdirSync(folder, { recursive: true });
    } catch (error) {
      throw new Error(`The folder ${folder} cannot be made (${(error as NodeJS.ErrnoException).code})`);
    }
    const report = new ReportFolder(folder);
    if (readdirSync(folder).length > 0 && !report.#isReport()) {
      throw new Error(`${folder} holds something else than an earlier report: give an empty or a new folder`);
    }
    return report;
  }

  #isReport(): boolean {
    return existsSync(this.page) && readFileSync(this.page, 'utf8').includes(generator);
  }

  write(results: Results, date: Date): void {
    const pictures = new PictureFolder(join(this.#folder, 'pictures'));
    const galleries = results.evaluations.map((evaluation) => galleryOf(evaluation, pictures));
    writeFileSync(this.page, reportPage(results, galleries, date));
    writeFileSync(join(this.#folder, 'figures.json'), `${resultsJson(results)}\n`);
    pictures.removeOthers();
  }
}

/** Copies what the page shows of a set. */
function galleryOf(evaluation: Evaluation, folder: PictureFolder): Gallery {
  const { set, pictures } = evaluation;
  const picture = (name: string) => pictures.get(name)!;
  const links = new Map(
    picturesShown(evaluation).map((name) => {
      // A picture that is shown was read.
      const copy = folder.add(join(set.folder, name), picture(name).image!);
      return [name, `pictures/${copy}`];
    }),
  );
  return { picture, link: (name) => links.get(name)! };
}
