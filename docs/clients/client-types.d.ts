// Made by scripts/generate-docs.mjs from the schemas of the OpenAPI document; change those instead.

export type FieldName = keyof AdvancedMatchFields;

export type ImageField = 'image1' | 'image2';

export type AccuracyMode = 'fast' | 'balance';

/**
 * The form of the basic endpoint. Each becomes a part of the form; what is no picture, as text:
 * `String(value)`.
 */
export interface MatchFields<Picture = unknown> {
  /** First picture: JPEG, PNG or WebP, recognised by content */
  image1: Picture;
  /** Second picture: JPEG, PNG or WebP, recognised by content */
  image2: Picture;
  /**
   * Least confidence_percent that counts as a match. Digits with an optional decimal point: no sign, no
   * exponent (0 to 100; default 70)
   */
  threshold_percent?: number;
}

/**
 * The form of the advanced endpoint. Each becomes a part of the form; what is no picture, as text:
 * `String(value)`.
 */
export interface AdvancedMatchFields<Picture = unknown> extends MatchFields<Picture> {
  /**
   * Which face of image1, counted from 0, largest first; -1 chooses automatically (-1 to 2147483647; default
   * -1)
   */
  image1_face_index?: number;
  /**
   * Which face of image2, counted from 0, largest first; -1 chooses automatically (-1 to 2147483647; default
   * -1)
   */
  image2_face_index?: number;
  /** balance for accuracy, fast for lower latency (default balance) */
  accuracy_mode?: AccuracyMode;
  /** Whether to look again, in other ways, at a picture in which no face was found (default true) */
  use_heuristic_fallback?: boolean;
  /**
   * Least detection score of a face; by default the model pack's own. Digits with an optional decimal point:
   * no sign, no exponent (0 to 1)
   */
  min_det_score?: number;
  /**
   * Whether automatic choice takes the best pair of all faces, or the largest face of each picture (default
   * true)
   */
  auto_pair_best?: boolean;
  /**
   * Whether a match of a poor face is refused (422 `low_quality_face`) instead of answered with a warning
   * (default false)
   */
  reject_low_quality?: boolean;
}

/** Whether the two pictures show the same person. A non-match is an answer like any other, not an error. */
export interface MatchAnswer {
  /** The same as in the X-Request-Id header */
  request_id: string;
  /** Whether confidence_percent, before it is rounded, reaches threshold_percent */
  match: boolean;
  /**
   * How sure it is that both are the same person: 30 + 10 × −log10 of the false-match rate from 40 on, so
   * that ten points more are ten times fewer false matches (0 to 100)
   */
  confidence_percent: number;
  /** The threshold that was applied (0 to 100) */
  threshold_percent: number;
  /** Cosine of the two embeddings as the net gave them; not comparable between model packs (-1 to 1) */
  similarity: number;
  /**
   * How often two different people would come out at least this alike, all pairs that were tried taken into
   * account; never below the floor of the pack's table, see GET models (0 to 1)
   */
  false_match_rate: number;
  /**
   * true when the score lies beyond what the pack's people could show: false_match_rate is then the floor, an
   * upper bound, and confidence_percent goes on in the form of the tail
   */
  extrapolated: boolean;
  /** The mode that was used */
  accuracy_mode: AccuracyMode;
  image1: Image;
  image2: Image;
  /** How many pairs of faces were compared (from 1) */
  pairs_compared: number;
  /** Every pair that was compared, best first */
  pairs: Pair[];
  /** What the answer rests on; GET models tells more */
  model: Model;
  /** Empty when there is nothing to say */
  warnings: Warning[];
  /** Where the time went; in the Server-Timing header as well */
  timings_ms: Timings;
}

/** What was seen in a picture. */
export interface Image {
  /** Of the upright picture, pixels (from 1) */
  width: number;
  /** Of the upright picture, pixels (from 1) */
  height: number;
  /** As recognised by content. `jpeg`: JPEG; `png`: PNG; `webp`: WebP. */
  format: ImageFormat;
  /** EXIF orientation as found; 1 when the picture says nothing (1 to 8) */
  orientation: number;
  /** Largest first (area of the box × detection score), at most 20 */
  faces: Face[];
  /** The face that the answer is about (from 0) */
  face_index: number;
}

/**
 * A face. Coordinates are pixels of the upright picture, that is after its EXIF orientation; the origin is
 * top left.
 */
export interface Face {
  /** Position in the list; what a face index in the form counts (from 0) */
  index: number;
  /** Where the face is, pixels */
  box: Box;
  /** Five points; left and right are the person's own */
  landmarks: Landmarks;
  /**
   * How sure the detector is that this is a face; of one that was not found by the ordinary look, in a
   * close-up of it (0 to 1)
   */
  detection_score: number;
  /**
   * Which look found the face: `primary`: the ordinary look at the whole picture; `tiled`: a look at
   * overlapping tiles, for small faces; `rotated`: a look at the picture turned; `padded`: a look with a
   * border around it, for faces larger than the frame; `enhanced`: a look at the picture with its contrast
   * raised.
   */
  found_by: FoundBy;
  /** How surely this is a human face: faces below the pack's bar are dropped, see GET models */
  human_score?: number;
  /** How the head is turned, degrees; all zero is straight into the camera */
  pose: Pose;
  /** What the picture of the face is good for */
  quality: Quality;
}

/** Two faces that were compared. */
export interface Pair {
  /** A face of image1 (from 0) */
  image1_face_index: number;
  /** A face of image2 (from 0) */
  image2_face_index: number;
  /** As in the answer, for this pair (-1 to 1) */
  similarity: number;
  /** As in the answer, for this pair (0 to 100) */
  confidence_percent: number;
}

/** Something that was let pass, and may not be what you meant. It never changes the verdict. */
export interface Warning {
  /**
   * What it is about. `unknown_field`: the endpoint does not know the field, and ignored it;
   * `low_quality_face`: the compared face is so poor that the same person is recognised less often.
   */
  code: WarningCode;
  /** Name of the field; with `low_quality_face`, the picture, whose `face_index` names the face */
  field: string;
  /**
   * With `low_quality_face` only, what the face is. `small`: too small (face_pixels below 36); `blurred`:
   * blurred (sharpness below 0.55); `bright`: overexposed (brightness beyond 0.8); `turned`: turned to the
   * side (yaw beyond 35).
   */
  reason?: QualityReason;
  /** What happened and what to do about it, for people */
  detail: string;
}

/** The model pack that is loaded. */
export interface ModelsAnswer {
  /** Name of the model pack */
  pack: string;
  /** Its version; answers may differ between versions */
  version: string;
  /** What it consists of */
  description: string;
  /** Where the pack's own nets come from */
  source: {
    /**
     * What it is. `npm`: a package of the npm registry; `project`: a project that publishes its files
     * elsewhere.
     */
    kind: 'npm' | 'project';
    /** Its name */
    name: string;
    /** Its version or commit */
    version: string;
    /** Its licence, as stated by it */
    licence: string;
  };
  /** The nets, in the order in which a picture meets them */
  files: {
    /**
     * What the net is for. `detector`: finds faces; `landmarks`: finds eyes, nose and mouth; `embedder`:
     * turns a face into a vector; `cohort`: normalises similarities, so that one threshold serves different
     * groups of people; `human`: tells human faces from those of animals.
     */
    role: 'detector' | 'landmarks' | 'embedder' | 'cohort' | 'human';
    /** Name of the file */
    file: string;
    /** The model pack that it belongs to: this one, or the one that it was taken over from */
    pack: string;
    /** Its licence */
    licence: string;
    /** SHA-256 of the file that is loaded */
    sha256: string;
    /** SHA-256 of the file as its authors published it */
    source_sha256: string;
  }[];
  /** Default of the form field `min_det_score` (0 to 1) */
  min_det_score: number;
  /** How human faces are told from those of animals; absent where the pack takes every face */
  human?: {
    /** Faces whose `human_score` is below are dropped, as if they had not been found */
    bar: number;
    /** The pictures that it was made from */
    fitted_on: string;
  };
  /** One table for each accuracy mode */
  calibration: {
    fast: Calibration;
    balance: Calibration;
  };
}

/** How a similarity becomes a false-match rate, and that a percentage. */
export interface Calibration {
  /** The pairs of pictures that the table was made from */
  fitted_on: string;
  /** Rising similarities, falling rates; between points the logarithm of the rate is linear */
  points: [number, number][];
  /** The lowest false-match rate that the people of the fit can show; below it an answer is `extrapolated` */
  floor: number;
}

/** Where the face is, pixels */
export interface Box {
  /** Left edge; negative when the face begins outside the picture */
  x: number;
  /** Upper edge; negative when the face begins outside the picture */
  y: number;
  /** Width */
  width: number;
  /** Height */
  height: number;
}

/** Five points; left and right are the person's own */
export interface Landmarks {
  /** Middle of the right eye, pixels */
  right_eye: [x: number, y: number];
  /** Middle of the left eye, pixels */
  left_eye: [x: number, y: number];
  /** Tip of the nose, pixels */
  nose: [x: number, y: number];
  /** Right corner of the mouth, pixels */
  mouth_right: [x: number, y: number];
  /** Left corner of the mouth, pixels */
  mouth_left: [x: number, y: number];
}

/**
 * Which look found the face: `primary`: the ordinary look at the whole picture; `tiled`: a look at
 * overlapping tiles, for small faces; `rotated`: a look at the picture turned; `padded`: a look with a border
 * around it, for faces larger than the frame; `enhanced`: a look at the picture with its contrast raised.
 */
export type FoundBy = 'primary' | 'tiled' | 'rotated' | 'padded' | 'enhanced';

/** How the head is turned, degrees; all zero is straight into the camera */
export interface Pose {
  /** Positive: the person looks to their own left (-180 to 180) */
  yaw: number;
  /** Positive: upwards (-180 to 180) */
  pitch: number;
  /** Positive: the head leans towards their own left shoulder (-180 to 180) */
  roll: number;
}

/** What the picture of the face is good for */
export interface Quality {
  /**
   * How much of the detail a further blur would take away (Crete et al. 2007), whatever the size, contrast
   * and brightness: 0.6 to 0.7 is a sharp photo, below 0.5 is clearly blurred (0 to 1)
   */
  sharpness: number;
  /** Mean luma of the face: 0 is black, 1 is white (0 to 1) */
  brightness: number;
  /** Side of the aligned face, in pixels of the picture (from 0) */
  face_pixels: number;
}

/** As recognised by content. `jpeg`: JPEG; `png`: PNG; `webp`: WebP. */
export type ImageFormat = 'jpeg' | 'png' | 'webp';

/**
 * What it is about. `unknown_field`: the endpoint does not know the field, and ignored it;
 * `low_quality_face`: the compared face is so poor that the same person is recognised less often.
 */
export type WarningCode = 'unknown_field' | 'low_quality_face';

/**
 * With `low_quality_face` only, what the face is. `small`: too small (face_pixels below 36); `blurred`:
 * blurred (sharpness below 0.55); `bright`: overexposed (brightness beyond 0.8); `turned`: turned to the side
 * (yaw beyond 35).
 */
export type QualityReason = 'small' | 'blurred' | 'bright' | 'turned';

/** What the answer rests on; GET models tells more */
export interface Model {
  /** Name of the model pack */
  pack: string;
  /** Its version */
  version: string;
}

/** Where the time went; in the Server-Timing header as well */
export interface Timings {
  /** Waiting for a worker, milliseconds (from 0) */
  queue: number;
  /** Decoding both pictures, milliseconds (from 0) */
  decode: number;
  /** Finding faces, by further looks too, milliseconds (from 0) */
  detect: number;
  /**
   * Finding their landmarks, making sure that they are faces, and cutting them out upright, milliseconds
   * (from 0)
   */
  align: number;
  /** Turning each face into a vector, milliseconds (from 0) */
  embed: number;
  /** From the last byte of the request to the answer, milliseconds (from 0) */
  total: number;
}

/** What a problem has whatever its code (RFC 9457). */
export interface ProblemBase {
  /** Where the problem is explained */
  type: string;
  /** What is wrong, the same text each time */
  title: string;
  /** What to do about it, for people */
  detail: string;
  /** The same as in the X-Request-Id header; quote it to the operator */
  request_id: string;
}

/** What a problem carries beside that, by its code. */
export interface ProblemMembers {
  /** The body is not well-formed multipart/form-data */
  invalid_multipart: {
    /** The HTTP status */
    status: 400;
  };
  /** A required field is missing or empty */
  missing_field: {
    /** The HTTP status */
    status: 400;
    /** Name of the form field */
    field: ImageField;
  };
  /** A field has a value of the wrong form or out of range */
  invalid_field: {
    /** The HTTP status */
    status: 400;
    /** Name of the form field */
    field: Exclude<FieldName, ImageField>;
    /** What the field takes */
    expected: string;
  };
  /** A field was sent twice */
  duplicate_field: {
    /** The HTTP status */
    status: 400;
    /** Name of the form field */
    field: FieldName;
  };
  /** No API key */
  missing_api_key: {
    /** The HTTP status */
    status: 401;
  };
  /** The API key is not valid */
  invalid_api_key: {
    /** The HTTP status */
    status: 401;
  };
  /** The key may not use this endpoint */
  forbidden_scope: {
    /** The HTTP status */
    status: 403;
    /** The scope that the key lacks */
    required_scope: string;
  };
  /** No such endpoint */
  not_found: {
    /** The HTTP status */
    status: 404;
  };
  /** This endpoint is switched off */
  endpoint_disabled: {
    /** The HTTP status */
    status: 404;
  };
  /** This path takes another method */
  method_not_allowed: {
    /** The HTTP status */
    status: 405;
  };
  /** The body did not arrive in time */
  upload_timeout: {
    /** The HTTP status */
    status: 408;
  };
  /** The body is too large */
  body_too_large: {
    /** The HTTP status */
    status: 413;
    /** The most bytes that are taken (from 1) */
    limit_bytes: number;
  };
  /** An image is too large */
  image_too_large: {
    /** The HTTP status */
    status: 413;
    /** The most bytes that are taken (from 1) */
    limit_bytes: number;
    /** Name of the form field */
    field: ImageField;
  };
  /** The body is not multipart/form-data */
  unsupported_media_type: {
    /** The HTTP status */
    status: 415;
  };
  /** The image is of a format that is not supported */
  unsupported_image_format: {
    /** The HTTP status */
    status: 415;
    /** Name of the form field */
    field: ImageField;
    /**
     * What the bytes look like. `heic`: HEIC or HEIF, as phones write it; `avif`: AVIF; `gif`: GIF; `bmp`:
     * BMP; `tiff`: TIFF; `pdf`: PDF; `unknown`: none of these.
     */
    detected: 'heic' | 'avif' | 'gif' | 'bmp' | 'tiff' | 'pdf' | 'unknown';
  };
  /** The image is damaged */
  image_decode_failed: {
    /** The HTTP status */
    status: 422;
    /** Name of the form field */
    field: ImageField;
  };
  /** The image's width or height is out of range */
  image_dimensions: {
    /** The HTTP status */
    status: 422;
    /** Name of the form field */
    field: ImageField;
    /** Width that the picture declares, pixels (from 0) */
    width: number;
    /** Height that the picture declares, pixels (from 0) */
    height: number;
    /** The most pixels, width × height, that are taken (from 1) */
    limit_pixels: number;
  };
  /** No face was found */
  no_face_found: {
    /** The HTTP status */
    status: 422;
    /** One for each picture without a face */
    errors: {
      /** The picture */
      field: ImageField;
      /** What is the matter with it */
      code: 'no_face_found';
    }[];
  };
  /** There is no face with that index */
  face_index_out_of_range: {
    /** The HTTP status */
    status: 422;
    /** Name of the form field */
    field: ImageField;
    /** How many faces were found in the picture (from 0) */
    faces_found: number;
  };
  /** A compared face is too poor */
  low_quality_face: {
    /** The HTTP status */
    status: 422;
    /** One for each picture whose compared face is too poor */
    errors: {
      /** The picture */
      field: ImageField;
      /** What the compared face is, in the words of the `reason` of a warning */
      reasons: QualityReason[];
    }[];
  };
  /** Rate limit exceeded */
  rate_limit_exceeded: {
    /** The HTTP status */
    status: 429;
  };
  /** Internal error */
  internal_error: {
    /** The HTTP status */
    status: 500;
  };
  /** The server is at its limit */
  overloaded: {
    /** The HTTP status */
    status: 503;
  };
  /** The server is not ready yet */
  not_ready: {
    /** The HTTP status */
    status: 503;
  };
  /** The server is shutting down */
  shutting_down: {
    /** The HTTP status */
    status: 503;
  };
  /** The deadline passed before there was an answer */
  deadline_exceeded: {
    /** The HTTP status */
    status: 504;
  };
}

/** What is wrong, for programs. New codes may come. */
export type ErrorCode = keyof ProblemMembers;

/** Every answer that is not 200: `application/problem+json`. `code` tells which members it has. */
export type Problem<Code extends ErrorCode = ErrorCode> = {
  [One in Code]: ProblemBase & { code: One } & ProblemMembers[One];
}[Code];
