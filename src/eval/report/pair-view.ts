import type { Face } from '../../engine/addon.ts';
import { type Html, html } from '../../html.ts';
import type { EmbeddedPicture } from '../embed-worker.ts';
import { confidenceText, scoreText } from '../number-text.ts';
import type { WorstPair } from '../pairs.ts';
import { type Crop, cropAround, wholePicture } from './crop.ts';

/** Finds a picture of the set by its name: what is known of it, and where the page has it. */
export interface Gallery {
  picture(name: string): EmbeddedPicture;
  /** Relative to the page. */
  link(name: string): string;
}

/** Pairs of pictures with their scores; `title` heads them. */
export function pairsView(title: string, pairs: readonly WorstPair[], gallery: Gallery): Html {
  if (pairs.length === 0) return html`<h3>${title}</h3><p>None.</p>`;
  return html`<h3>${title}</h3>
<ol class="pairs">${pairs.map(
    (pair) => html`<li>${pairView(pair, gallery)}</li>
`,
  )}</ol>
`;
}

/** Pictures without a face, whole. */
export function picturesView(names: readonly string[], gallery: Gallery): Html {
  return html`<ul class="pictures">${names.map(
    (
      name,
    ) => html`<li><figure>${pictureView(name, gallery)}<figcaption><bdi>${name}</bdi></figcaption></figure></li>
`,
  )}</ul>
`;
}

function pairView(pair: WorstPair, gallery: Gallery): Html {
  const { image1, image2, normalised, cosine, confidence_percent } = pair;
  return html`<figure>
<div class="two">${pictureView(image1, gallery)}${pictureView(image2, gallery)}</div>
<figcaption><strong>${scoreText(normalised)}</strong>, ${confidenceText(confidence_percent)}, cosine ${scoreText(cosine)}
${[image1, image2].map((name) => html`<p><bdi>${name}</bdi><br>${faceText(gallery.picture(name))}</p>`)}</figcaption>
</figure>`;
}

/** The compared face with its surroundings, boxes over it, and the whole picture behind the link. */
function pictureView(name: string, gallery: Gallery): Html {
  const picture = gallery.picture(name);
  // Only pictures that were read are shown.
  const image = picture.image!;
  const face = picture.faces[picture.chosen];
  const crop = face ? cropAround(face.box, image) : wholePicture(image);
  const link = gallery.link(name);
  return html`<a class="crop" href="${link}"><img src="${link}" alt="${name}" loading="lazy" style="${placement(crop, image)}">${overlay(picture, crop)}</a>`;
}

/** Of the whole picture within the square that shows a part of it; an <img> heeds EXIF orientation in every browser. */
function placement({ x, y, side }: Crop, { width }: { width: number }): string {
  const share = (pixels: number) => `${((pixels / side) * 100).toFixed(2)}%`;
  return `width:${share(width)};left:${share(-x)};top:${share(-y)}`;
}

function overlay({ faces, chosen }: EmbeddedPicture, { x, y, side }: Crop): Html {
  const viewBox = [x, y, side, side].map((value) => value.toFixed(1)).join(' ');
  return html`<svg viewBox="${viewBox}" aria-hidden="true">${faces.map((face, index) =>
    index === chosen ? html`${box(face, 'chosen')}${landmarks(face, side / 90)}` : box(face, 'other'),
  )}</svg>`;
}

function box({ box: { x, y, width, height } }: Face, kind: 'chosen' | 'other'): Html {
  const [left, top, wide, high] = [x, y, width, height].map((value) => value.toFixed(1));
  return html`<rect class="${kind}" x="${left}" y="${top}" width="${wide}" height="${high}"/>`;
}

function landmarks({ landmarks: points }: Face, radius: number): Html[] {
  return Object.values(points).map(
    ([x, y]) => html`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius.toFixed(1)}"/>`,
  );
}

function faceText({ faces, chosen }: EmbeddedPicture): string {
  const face = faces[chosen];
  if (!face) return 'no face';
  const { pose, quality, detection_score, found_by } = face;
  const degrees = [pose.yaw, pose.pitch, pose.roll].map((angle) => `${Math.round(angle) + 0}°`);
  return [
    `yaw ${degrees[0]} pitch ${degrees[1]} roll ${degrees[2]}`,
    `sharpness ${quality.sharpness.toFixed(2)}, brightness ${quality.brightness.toFixed(2)}, ${quality.face_pixels.toFixed(0)} px`,
    `detection ${detection_score.toFixed(3)}, ${found_by}`,
  ].join(' · ');
}
