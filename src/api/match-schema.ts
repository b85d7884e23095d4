import type { Face, FoundBy, ImageFormat, ImageReport } from '../engine/addon.ts';
import { qualityLimits, qualityWords } from '../http/face-quality.ts';
import { fieldTable } from '../http/fields.ts';
import type { matchBody } from '../http/match-result.ts';
import {
  boolean,
  integer,
  list,
  number,
  object,
  optional,
  ref,
  type Schema,
  text,
  tuple,
  word,
} from './schema.ts';

/** The 200 answer of both match endpoints. */

type MatchBody = ReturnType<typeof matchBody>;

/** The members of any of a union's types. */
type AllMembers<T> = { [Name in T extends unknown ? keyof T : never]: unknown };

/** As native/core/types.h bounds them. */
const mostFaces = 20;

const formats: Record<ImageFormat, string> = { jpeg: 'JPEG', png: 'PNG', webp: 'WebP' };

const foundBy: Record<FoundBy, string> = {
  primary: 'the ordinary look at the whole picture',
  tiled: 'a look at overlapping tiles, for small faces',
  rotated: 'a look at the picture turned',
  padded: 'a look with a border around it, for faces larger than the frame',
  enhanced: 'a look at the picture with its contrast raised',
};

const point = (what: string) => tuple([number('x'), number('y')], `${what}, pixels`);
const share = { minimum: 0, maximum: 1 };
const percent = { minimum: 0, maximum: 100 };
const cosine = { minimum: -1, maximum: 1 };
const degrees = { minimum: -180, maximum: 180 };
const milliseconds = (what: string) => number(`${what}, milliseconds`, { minimum: 0 });

const face = optional(
  ['human_score'],
  object<Face>(
    {
      index: integer('Position in the list; what a face index in the form counts', { minimum: 0 }),
      box: object<Face['box']>(
        {
          x: number('Left edge; negative when the face begins outside the picture'),
          y: number('Upper edge; negative when the face begins outside the picture'),
          width: number('Width', { exclusiveMinimum: 0 }),
          height: number('Height', { exclusiveMinimum: 0 }),
        },
        'Where the face is, pixels',
      ),
      landmarks: object<Face['landmarks']>(
        {
          right_eye: point('Middle of the right eye'),
          left_eye: point('Middle of the left eye'),
          nose: point('Tip of the nose'),
          mouth_right: point('Right corner of the mouth'),
          mouth_left: point('Left corner of the mouth'),
        },
        "Five points; left and right are the person's own",
      ),
      detection_score: number(
        'How sure the detector is that this is a face; of one that was not found by the ordinary look, in a close-up of it',
        share,
      ),
      found_by: word(foundBy, 'Which look found the face:'),
      human_score: number(
        "How surely this is a human face: faces below the pack's bar are dropped, see GET models",
      ),
      pose: object<Face['pose']>(
        {
          yaw: number('Positive: the person looks to their own left', degrees),
          pitch: number('Positive: upwards', degrees),
          roll: number('Positive: the head leans towards their own left shoulder', degrees),
        },
        'How the head is turned, degrees; all zero is straight into the camera',
      ),
      quality: object<Face['quality']>(
        {
          sharpness: number(
            'How much of the detail a further blur would take away (Crete et al. 2007), whatever the size, contrast and brightness: ' +
              '0.6 to 0.7 is a sharp photo, below 0.5 is clearly blurred',
            share,
          ),
          brightness: number('Mean luma of the face: 0 is black, 1 is white', share),
          face_pixels: integer('Side of the aligned face, in pixels of the picture', { minimum: 0 }),
        },
        'What the picture of the face is good for',
      ),
    },
    'A face. Coordinates are pixels of the upright picture, that is after its EXIF orientation; the origin is top left.',
  ),
);

const image = object<ImageReport & { face_index: number }>(
  {
    width: integer('Of the upright picture, pixels', { minimum: 1 }),
    height: integer('Of the upright picture, pixels', { minimum: 1 }),
    format: word(formats, 'As recognised by content.'),
    orientation: integer('EXIF orientation as found; 1 when the picture says nothing', {
      minimum: 1,
      maximum: 8,
    }),
    faces: list(
      ref('schemas', 'Face'),
      `Largest first (area of the box × detection score), at most ${mostFaces}`,
      {
        minItems: 1,
        maxItems: mostFaces,
      },
    ),
    face_index: integer('The face that the answer is about', { minimum: 0 }),
  },
  'What was seen in a picture.',
);

const pair = object<MatchBody['pairs'][number]>(
  {
    image1_face_index: integer('A face of image1', { minimum: 0 }),
    image2_face_index: integer('A face of image2', { minimum: 0 }),
    similarity: number('As in the answer, for this pair', cosine),
    confidence_percent: number('As in the answer, for this pair', percent),
  },
  'Two faces that were compared.',
);

/** What each reason means, and where it begins to hold, in the members' own names. */
const qualityReasons = qualityLimits.map(({ reason, member, least, most }) => {
  const limit = least === undefined ? `beyond ${most}` : `below ${least}`;
  return [reason, `${qualityWords[reason]} (${member} ${limit})`] as const;
});

const warning = optional(
  ['reason'],
  object<Required<AllMembers<MatchBody['warnings'][number]>>>(
    {
      code: word(
        {
          unknown_field: 'the endpoint does not know the field, and ignored it',
          low_quality_face: 'the compared face is so poor that the same person is recognised less often',
        },
        'What it is about.',
      ),
      field: text(
        'Name of the field; with `low_quality_face`, the picture, whose `face_index` names the face',
      ),
      reason: word(Object.fromEntries(qualityReasons), 'With `low_quality_face` only, what the face is.'),
      detail: text('What happened and what to do about it, for people'),
    },
    'Something that was let pass, and may not be what you meant. It never changes the verdict.',
  ),
);

const match = object<MatchBody>(
  {
    request_id: text('The same as in the X-Request-Id header'),
    match: boolean('Whether confidence_percent, before it is rounded, reaches threshold_percent'),
    confidence_percent: number(
      'How sure it is that both are the same person: 30 + 10 × −log10 of the false-match rate from 40 on, so that ten points ' +
        'more are ten times fewer false matches',
      percent,
    ),
    threshold_percent: number('The threshold that was applied', percent),
    similarity: number(
      'Cosine of the two embeddings as the net gave them; not comparable between model packs',
      cosine,
    ),
    false_match_rate: number(
      'How often two different people would come out at least this alike, all pairs that were tried taken into account; ' +
        "never below the floor of the pack's table, see GET models",
      share,
    ),
    extrapolated: boolean(
      "true when the score lies beyond what the pack's people could show: false_match_rate is then the floor, an upper bound, " +
        'and confidence_percent goes on in the form of the tail',
    ),
    accuracy_mode: {
      type: 'string',
      enum: fieldTable.accuracy_mode.values,
      description: 'The mode that was used',
    },
    image1: ref('schemas', 'Image'),
    image2: ref('schemas', 'Image'),
    pairs_compared: integer('How many pairs of faces were compared', { minimum: 1 }),
    pairs: list(ref('schemas', 'Pair'), 'Every pair that was compared, best first', { minItems: 1 }),
    model: object<MatchBody['model']>(
      { pack: text('Name of the model pack'), version: text('Its version') },
      'What the answer rests on; GET models tells more',
    ),
    warnings: list(ref('schemas', 'Warning'), 'Empty when there is nothing to say'),
    timings_ms: object<MatchBody['timings_ms']>(
      {
        queue: milliseconds('Waiting for a worker'),
        decode: milliseconds('Decoding both pictures'),
        detect: milliseconds('Finding faces, by further looks too'),
        align: milliseconds(
          'Finding their landmarks, making sure that they are faces, and cutting them out upright',
        ),
        embed: milliseconds('Turning each face into a vector'),
        total: milliseconds('From the last byte of the request to the answer'),
      },
      'Where the time went; in the Server-Timing header as well',
    ),
  },
  'Whether the two pictures show the same person. A non-match is an answer like any other, not an error.',
);

export const matchSchemas: Readonly<Record<string, Schema>> = {
  Match: match,
  Image: image,
  Face: face,
  Pair: pair,
  Warning: warning,
};
