import { type Face, type Html, html } from 'facematch/for-lab';
import type { EmbeddedImage } from '../embed-worker.ts';
import type { Figures } from '../figures.ts';
import { confidenceText, countText, scoreText } from '../number-text.ts';
import type { WorstPair } from '../pairs.ts';

/** An image of the set. `link` is the path of its copy, relative to the page. */
type ShownImage = Pick<EmbeddedImage, 'faces' | 'chosen'> & {
  image: NonNullable<EmbeddedImage['image']>;
  link: string;
};

/** Shown images by their name in the set. */
export type Gallery = ReadonlyMap<string, ShownImage>;

export function pairsView(title: string, pairs: readonly WorstPair[], gallery: Gallery): Html {
  if (pairs.length === 0) return html`<h3>${title}</h3><p>None.</p>`;
  return html`<h3>${title}</h3>
<ol class="pairs">${pairs.map(({ image1, image2, normalised, cosine, confidence_percent }) => {
    const names = [image1, image2];
    return html`<li><figure>
<div class="two">${names.map((name) => imageView(name, gallery.get(name)!))}</div>
<figcaption><strong>${scoreText(normalised)}</strong>, ${confidenceText(confidence_percent)}, cosine ${scoreText(cosine)}
${names.map((name) => html`<p><bdi>${name}</bdi><br>${faceText(gallery.get(name)!)}</p>`)}</figcaption>
</figure></li>
`;
  })}</ol>
`;
}

/** Side of the crop, relative to the longer side of the face's box. */
const cropScale = 2.2;

/**
 * Returns a square crop around a face, in pixels of the upright image. Shifts it into the image if it fits, and
 * otherwise centres it. Without a face, returns the square around the whole image.
 */
function cropAround(box: Face['box'] | undefined, { width, height }: ShownImage['image']) {
  const whole = Math.max(width, height);
  const side = box ? Math.min(cropScale * Math.max(box.width, box.height), whole) : whole;
  const inside = (middle: number, length: number) =>
    side >= length ? (length - side) / 2 : Math.max(0, Math.min(middle - side / 2, length - side));
  return {
    x: inside(box ? box.x + box.width / 2 : 0, width),
    y: inside(box ? box.y + box.height / 2 : 0, height),
    side,
  };
}

/** Returns the crop around the compared face, with boxes of all faces and a link to the whole image. */
function imageView(name: string, { faces, chosen, image, link }: ShownImage): Html {
  const { x, y, side } = cropAround(faces[chosen]?.box, image);
  // Shows a part of the whole image with an <img>, where browsers apply the EXIF orientation of a JPEG.
  const share = (pixels: number) => `${((pixels / side) * 100).toFixed(2)}%`;
  const placement = `width:${share(image.width)};left:${share(-x)};top:${share(-y)}`;
  const viewBox = [x, y, side, side].map((value) => value.toFixed(1)).join(' ');
  const boxes = faces.map(({ box, landmarks }, index) => {
    const [left, top, width, height] = [box.x, box.y, box.width, box.height].map((value) => value.toFixed(1));
    const kind = index === chosen ? 'chosen' : 'other';
    const dots = Object.values(landmarks).map(
      ([x, y]) => html`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${(side / 90).toFixed(1)}"/>`,
    );
    return html`<rect class="${kind}" x="${left}" y="${top}" width="${width}" height="${height}"/>${index === chosen ? dots : undefined}`;
  });
  return html`<a class="crop" href="${link}"><img src="${link}" alt="${name}" loading="lazy" style="${placement}"><svg viewBox="${viewBox}" aria-hidden="true">${boxes}</svg></a>`;
}

function faceText({ faces, chosen }: ShownImage): string {
  const face = faces[chosen];
  if (!face) return 'no face';
  const { pose, quality, detection_score, found_by } = face;
  const [yaw, pitch, roll] = [pose.yaw, pose.pitch, pose.roll].map((angle) => Math.round(angle) + 0);
  return [
    `yaw ${yaw}° pitch ${pitch}° roll ${roll}°`,
    `sharpness ${quality.sharpness.toFixed(2)}, brightness ${quality.brightness.toFixed(2)}, ${quality.face_pixels.toFixed(0)} px`,
    `detection ${detection_score.toFixed(3)}, ${found_by}`,
  ].join(' · ');
}

/** Maximum number of images without a face to show. Further images are listed by name. */
const maxShown = 24;

export function imagesShown({ worst, without_face }: Pick<Figures, 'worst' | 'without_face'>): string[] {
  const pairs = [...worst.non_mated, ...worst.mated].flatMap(({ image1, image2 }) => [image1, image2]);
  return [...new Set([...pairs, ...without_face.slice(0, maxShown)])];
}

/** Shows the images without a face, uncropped, and lists the images that could not be read. */
export function missingView(
  { without_face, failures }: Pick<Figures, 'without_face' | 'failures'>,
  gallery: Gallery,
): Html {
  const shown = without_face.slice(0, maxShown).map((name) => {
    const image = imageView(name, gallery.get(name)!);
    return html`<li><figure>${image}<figcaption><bdi>${name}</bdi></figcaption></figure></li>
`;
  });
  const rest = without_face.slice(maxShown).map((name) => html`<li><bdi>${name}</bdi></li>`);
  const unread = Object.entries(failures).map(
    ([name, reason]) => html`<li><bdi>${name}</bdi>: <code>${reason}</code></li>`,
  );
  return html`<h3>Images without a face</h3>
${shown.length === 0 ? html`<p>None.</p>` : html`<ul class="images">${shown}</ul>\n`}${rest.length === 0 ? undefined : html`<details><summary>${countText(rest.length)} more</summary><ul>${rest}</ul></details>`}
${
  unread.length === 0
    ? undefined
    : html`<h3>Images that could not be read</h3>
<ul>${unread}</ul>`
}`;
}
