import { z } from 'zod';
import type { Analysis } from '../engine/addon.ts';
import type { Calibration } from '../scoring/calibration.ts';
import type { ComparedPersons, PersonsInput, PhotoAgreement } from '../scoring/persons.ts';
import { agreementPercents, disagreement, disagreementWarnings } from './agreement.ts';
import { assessPair, decision, decisionOf, shifted, verdict } from './comparison.ts';
import { type Analysed, define, type Found, type HandlerResult, type Photo, prefix } from './endpoint.ts';
import { Image, imageBody } from './face.ts';
import { lowQuality } from './face-quality.ts';
import { faultsOf, type ImageFault } from './faults.ts';
import { imageCounts, imageRule, optionsOf, rejectionOf, responseUnlessRejected } from './images.ts';
import { type RequestContext, request_id, rest, timingsBody } from './response-members.ts';
import { count, object, percent, text } from './schema.ts';
import { betterFace, incomplete, requestWarnings, type Warning } from './warnings.ts';

/** Compares two sets of photos, each of one person, in one decision. */

/** Maximum number of photos on each side. */
export const maxPhotos = { image1: 4, image2: 16 } as const;

export const PersonPhoto = Image.extend({
  index: count.describe('Zero-based position among the photos of its field'),
  filename: text('File name, as sent').exactOptional(),
  agreement_percent: percent
    .nullable()
    .describe(
      '`confidence_percent` of the photo compared with the mean of the others on its side; null for a single photo',
    ),
}).describe('A photo of one side and its faces; the largest face is compared.');

const Person = object('Result of comparing the photos of two people.', {
  request_id,
  ...decision,
  similarity: verdict.similarity.describe(
    'Cosine similarity of the two mean embeddings; not comparable between model packs',
  ),
  false_match_rate: verdict.false_match_rate.describe(
    'Rate at which different people score at least this high with the same numbers of photos. Never below the floor of the pack; 1 if the pack is not calibrated',
  ),
  image1: z.array(PersonPhoto).min(1).max(maxPhotos.image1).describe('Photos of image1, in the order sent'),
  image2: z.array(PersonPhoto).min(1).max(maxPhotos.image2).describe('Photos of image2, in the order sent'),
  photos_compared: object('Number of photos compared on each side', {
    image1: z.int().min(1).max(maxPhotos.image1).describe('Number of photos of image1'),
    image2: z.int().min(1).max(maxPhotos.image2).describe('Number of photos of image2'),
  }),
  ...rest,
});

export type Person = z.infer<typeof Person>;
export type PersonPhoto = z.infer<typeof PersonPhoto>;

interface Side {
  name: 'image1' | 'image2';
  photos: { photo: Photo; analysis: Analysis }[];
}

/** Returns the errors of the photos, in the form's order. */
const faultsIn = ({ photos, outcomes }: Found): ImageFault[] =>
  photos.flatMap(({ field, index }, i) => faultsOf(field, outcomes[i]!, -1, index));

/** Returns the photos of both sides. No photo may have an error. */
function sidesOf({ photos, outcomes }: Found): [Side, Side] {
  const sideOf = (name: Side['name']) => ({
    name,
    photos: photos.flatMap((photo, i) => {
      const analysis = outcomes[i]!;
      return photo.field === name && analysis.ok ? [{ photo, analysis }] : [];
    }),
  });
  return [sideOf('image1'), sideOf('image2')];
}

export const facesOf = ({ photos }: Pick<Side, 'photos'>): PersonsInput[number] =>
  photos.map(({ analysis }) =>
    analysis.image.faces.map(({ embedding, cohort_score }) => ({ embedding, cohort_score })),
  );

/** `compared`: result of comparePersons for the faces of these sides. */
function personBody(
  context: RequestContext,
  sides: readonly Side[],
  compared: ComparedPersons,
  calibration: Calibration,
): Person {
  const { request_id, options, model } = context;
  const [image1, image2] = sides.map((side, i) => photosBody(side, compared.sides[i]!, calibration)) as [
    PersonPhoto[],
    PersonPhoto[],
  ];
  const photos_compared = { image1: image1.length, image2: image2.length };
  const assessed = assessPair(
    shifted(compared, calibration, image1.length, image2.length),
    calibration,
    1,
    options.threshold_percent,
  );
  const analysed = sides.flatMap(({ photos }) => photos.map(({ analysis }) => analysis));
  return {
    request_id,
    ...decisionOf(assessed, options),
    image1,
    image2,
    photos_compared,
    model,
    warnings: [
      ...requestWarnings(
        context,
        options.threshold_percent,
        calibration,
        Math.max(image1.length, image2.length),
      ),
      ...sides.flatMap((side, i) => warningsOf(side, [image1, image2][i]!, compared.sides[i]!)),
    ],
    timings_ms: timingsBody(context, analysed),
  };
}

export function photosBody(
  { photos }: Pick<Side, 'photos'>,
  agreements: readonly PhotoAgreement[],
  calibration: Calibration,
): PersonPhoto[] {
  const percents = agreementPercents(
    agreements.flatMap(({ agreement }) => agreement ?? []),
    calibration,
  );
  return photos.map(({ photo: { index, filename }, analysis }, i) => ({
    index,
    ...(filename === undefined ? {} : { filename }),
    agreement_percent: percents[i] ?? null,
    ...imageBody(analysis.image),
    face_index: 0,
  }));
}

function warningsOf(
  { name, photos }: Side,
  bodies: readonly PersonPhoto[],
  agreements: readonly PhotoAgreement[],
): Warning[] {
  return photos.flatMap(({ analysis }, index) => [
    ...incomplete(name, analysis.image, index),
    ...betterFace(name, index, agreements[index]!.best_face),
    ...lowQuality(name, bodies[index]!.faces[0]!, index),
  ]);
}

/** Returns both sides for the check in agreement.ts. */
const agreementsOf = ({ image1, image2 }: Person, { sides }: ComparedPersons) =>
  Object.entries({ image1, image2 }).map(
    ([field, photos], side) =>
      [
        field,
        photos.map(({ agreement_percent }) => agreement_percent),
        sides[side]!.map(({ best_face }) => best_face),
      ] as const,
  );

export const matchPerson = define({
  id: 'match_person',
  method: 'POST',
  path: `${prefix}/face/match/upload/person`,
  scope: 'match:person',
  audited: true,
  takes: 'images',
  fields: {
    image1: { ...imageRule('A photo of the first person'), max: maxPhotos.image1 },
    image2: { ...imageRule('A photo of the second person'), max: maxPhotos.image2 },
    ...optionsOf('match_person'),
  },
  values: 'PersonValues',
  success: {
    description: 'The photos were compared, whether they match or not',
    name: 'Person',
    schema: Person,
  },
  errors: ['faces', 'persons'],
  furtherTokens: (images) => Math.max(0, images - 2),
  tooManyFor: (burst) => ({
    limit: burst + 1,
    detail: `This key can compare at most ${burst + 1} photos per request, image1 and image2 together. Send fewer photos.`,
  }),
  docs: {
    tag: 'match',
    summary: 'Compare several photos of two people',
    description:
      `Compares up to ${maxPhotos.image1} photos of one person (\`image1\`) with up to ${maxPhotos.image2} photos of one person (\`image2\`). ` +
      'The largest face of each photo is used, and the mean embeddings of both sides are compared. This rejects far ' +
      'fewer mated pairs (same person) than single photos. `agreement_percent` reveals a photo of someone else.',
    further: ' Each photo beyond the second takes one more.',
    curl: ['-F image1=@frame.jpg', '-F image2=@one.jpg', '-F image2=@two.jpg', '-F accuracy_mode=fast'],
  },
  persons(found) {
    if (faultsIn(found).length > 0) return undefined;
    const sides = sidesOf(found);
    return {
      input: [facesOf(sides[0]), facesOf(sides[1])],
      buildResponse: (analysed, compared) => personResponse(analysed, sides, compared),
    };
  },
  buildResponse: (found) => rejectionOf(faultsIn(found)),
});

function personResponse(
  { context, photos, calibration }: Analysed,
  sides: readonly Side[],
  compared: ComparedPersons,
): HandlerResult {
  const { options } = context;
  const body = personBody(context, sides, compared, calibration);
  const all = [...body.image1, ...body.image2];
  const counts = all.map(imageCounts);
  const agreements = agreementsOf(body, compared);
  const rejection = disagreement(agreements, options.min_agreement_percent, calibration);
  if (rejection) return { rejection, counts, timings_ms: body.timings_ms };
  body.warnings.push(...disagreementWarnings(agreements, calibration));
  const { accuracy_mode, threshold_percent, confidence_percent, match } = body;
  const checkedFaces = photos.map(({ field, index }, i) => ({
    field,
    photo: index,
    face: all[i]!.faces[0]!,
  }));
  return responseUnlessRejected(body, options, checkedFaces, counts, [
    { accuracy_mode, threshold_percent, confidence_percent, match },
  ]);
}
