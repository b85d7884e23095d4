// Made by scripts/generate-docs.mjs of the OpenAPI document; change that instead.

export type AnyProblem =
  | InvalidMultipartProblem
  | InvalidJsonProblem
  | MissingFieldProblem
  | InvalidFieldProblem
  | TooManyImagesProblem
  | DuplicateFieldProblem
  | MissingApiKeyProblem
  | InvalidApiKeyProblem
  | ForbiddenScopeProblem
  | NotFoundProblem
  | EndpointDisabledProblem
  | MethodNotAllowedProblem
  | UploadTimeoutProblem
  | BodyTooLargeProblem
  | ImageTooLargeProblem
  | UnsupportedMediaTypeProblem
  | UnsupportedImageFormatProblem
  | ExpectationFailedProblem
  | ImageDecodeFailedProblem
  | ImageDimensionsProblem
  | ImageTooComplexProblem
  | NoFaceFoundProblem
  | FaceIndexOutOfRangeProblem
  | LowQualityFaceProblem
  | PresentationAttackProblem
  | EmbeddingMismatchProblem
  | InvalidEmbeddingProblem
  | RateLimitExceededProblem
  | InternalErrorProblem
  | OverloadedProblem
  | NotReadyProblem
  | ShuttingDownProblem
  | DeadlineExceededProblem;

/** The bodies of requests, without the pictures, and of answers. */
export interface Bodies {
  MatchValues: MatchValues;
  AdvancedMatchValues: AdvancedMatchValues;
  ManyValues: ManyValues;
  DetectValues: DetectValues;
  EmbedValues: EmbedValues;
  EmbeddingsQuestion: EmbeddingsQuestion;
  MatchAnswer: MatchAnswer;
  ManyAnswer: ManyAnswer;
  EmbeddingsAnswer: EmbeddingsAnswer;
  DetectAnswer: DetectAnswer;
  EmbedAnswer: EmbedAnswer;
  ModelsAnswer: ModelsAnswer;
  AnyProblem: AnyProblem;
}
/** The fields that are no pictures. */
export interface MatchValues {
  /** Least confidence_percent that counts as a match. Digits with an optional decimal point: no sign, no exponent */
  threshold_percent?: number;
}
/** The fields that are no pictures. */
export interface AdvancedMatchValues {
  /** Least confidence_percent that counts as a match. Digits with an optional decimal point: no sign, no exponent */
  threshold_percent?: number;
  /** Which face of image1, counted from 0, largest first; -1 chooses automatically */
  image1_face_index?: number;
  /** Which face of image2, counted from 0, largest first; -1 chooses automatically */
  image2_face_index?: number;
  /** balance for accuracy, fast for lower latency */
  accuracy_mode?: 'fast' | 'balance';
  /** Whether to try further detection steps when no face was found */
  use_heuristic_fallback?: boolean;
  /** Least detection score of a face; by default the model pack's own. Digits with an optional decimal point: no sign, no exponent */
  min_det_score?: number;
  /** Whether automatic choice takes the best pair of all faces, or the largest face of each image */
  auto_pair_best?: boolean;
  /** Whether a poor face is refused (422 `low_quality_face`) instead of answered with a warning */
  reject_low_quality?: boolean;
  /** Whether each face gets a `live_score`; only with a model pack that has liveness nets. A hint, never a verdict alone */
  detect_presentation_attack?: boolean;
  /** Whether a face whose `live_score` is below `live_threshold` is refused (422 `presentation_attack`); includes `detect_presentation_attack` */
  reject_presentation_attack?: boolean;
  /** Least `live_score` that `reject_presentation_attack` lets pass; by default the model pack's own. Digits with an optional decimal point: no sign, no exponent */
  live_threshold?: number;
}
/** The fields that are no pictures. */
export interface ManyValues {
  /** Least confidence_percent that counts as a match. Digits with an optional decimal point: no sign, no exponent */
  threshold_percent?: number;
  /** Which face of image1, counted from 0, largest first; -1 chooses automatically */
  image1_face_index?: number;
  /** balance for accuracy, fast for lower latency */
  accuracy_mode?: 'fast' | 'balance';
  /** Whether to try further detection steps when no face was found */
  use_heuristic_fallback?: boolean;
  /** Least detection score of a face; by default the model pack's own. Digits with an optional decimal point: no sign, no exponent */
  min_det_score?: number;
  /** Whether automatic choice takes the best pair of all faces, or the largest face of each image */
  auto_pair_best?: boolean;
  /** Whether a poor face is refused (422 `low_quality_face`) instead of answered with a warning */
  reject_low_quality?: boolean;
  /** Whether each face gets a `live_score`; only with a model pack that has liveness nets. A hint, never a verdict alone */
  detect_presentation_attack?: boolean;
  /** Whether a face whose `live_score` is below `live_threshold` is refused (422 `presentation_attack`); includes `detect_presentation_attack` */
  reject_presentation_attack?: boolean;
  /** Least `live_score` that `reject_presentation_attack` lets pass; by default the model pack's own. Digits with an optional decimal point: no sign, no exponent */
  live_threshold?: number;
}
/** The fields that are no pictures. */
export interface DetectValues {
  /** balance for accuracy, fast for lower latency */
  accuracy_mode?: 'fast' | 'balance';
  /** Whether to try further detection steps when no face was found */
  use_heuristic_fallback?: boolean;
  /** Least detection score of a face; by default the model pack's own. Digits with an optional decimal point: no sign, no exponent */
  min_det_score?: number;
  /** Whether each face gets a `live_score`; only with a model pack that has liveness nets. A hint, never a verdict alone */
  detect_presentation_attack?: boolean;
}
/** The fields that are no pictures. */
export interface EmbedValues {
  /** Which face gets an embedding, counted from 0, largest first; -1 for all */
  face_index?: number;
  /** balance for accuracy, fast for lower latency */
  accuracy_mode?: 'fast' | 'balance';
  /** Whether to try further detection steps when no face was found */
  use_heuristic_fallback?: boolean;
  /** Least detection score of a face; by default the model pack's own. Digits with an optional decimal point: no sign, no exponent */
  min_det_score?: number;
  /** Whether a poor face is refused (422 `low_quality_face`) instead of answered with a warning */
  reject_low_quality?: boolean;
  /** Whether each face gets a `live_score`; only with a model pack that has liveness nets. A hint, never a verdict alone */
  detect_presentation_attack?: boolean;
  /** Whether a face whose `live_score` is below `live_threshold` is refused (422 `presentation_attack`); includes `detect_presentation_attack` */
  reject_presentation_attack?: boolean;
  /** Least `live_score` that `reject_presentation_attack` lets pass; by default the model pack's own. Digits with an optional decimal point: no sign, no exponent */
  live_threshold?: number;
}
export interface EmbeddingsQuestion {
  /** Numbers in the encoding that embed gives: little-endian 32-bit floats, in base64 */
  embedding: string;
  /**
   * What it is compared with
   *
   * @minItems 1
   * @maxItems 1000
   */
  candidates: {
    /** Comes back with the result */
    id: string;
    /** Numbers in the encoding that embed gives: little-endian 32-bit floats, in base64 */
    embedding: string;
  }[];
  /** The pack that all of them are of */
  pack: string;
  /** Its version */
  version: string;
  /** The mode that all of them were made in */
  accuracy_mode: 'fast' | 'balance';
  /** Least confidence_percent that counts as a match */
  threshold_percent?: number;
  /** Among how many the candidates were found: each false_match_rate is multiplied by it. By default the number of candidates */
  searched?: number;
  /** Results below are left out */
  min_percent?: number;
  /** Most results */
  limit?: number;
}
/** Whether the two pictures show the same person. A non-match is an answer like any other, not an error. */
export interface MatchAnswer {
  /** The same as in the X-Request-Id header */
  request_id: string;
  /** Whether confidence_percent, before it is rounded, reaches threshold_percent */
  match: boolean;
  /** Confidence that both are the same person. From 40 on: 30 + 10 × −log10 of the false-match rate, so that ten points more are ten times fewer false matches */
  confidence_percent: number;
  /** The threshold that was applied */
  threshold_percent: number;
  /** Cosine of the two embeddings; not comparable between model packs */
  similarity: number;
  /** How often two different people score at least this high, corrected for the number of compared pairs; for each pair never below the floor of the pack's table, see GET models; 1 when the pack has no table */
  false_match_rate: number;
  /** true when the score is beyond what the pack's people can show: false_match_rate is then an upper bound (the floor times the number of pairs), and confidence_percent is extrapolated. Always true when the pack is not calibrated */
  extrapolated: boolean;
  /** The mode that was used */
  accuracy_mode: 'fast' | 'balance';
  image1: Image;
  image2: Image;
  /** How many pairs of faces were compared */
  pairs_compared: number;
  /**
   * Every pair that was compared, best first
   *
   * @minItems 1
   */
  pairs: Pair[];
  /** The model pack of the answer; see GET models */
  model: {
    /** Name of the model pack */
    pack: string;
    /** Its version */
    version: string;
  };
  /** Empty when there is nothing to say */
  warnings: Warning[];
  /** Where the time went; in the Server-Timing header as well */
  timings_ms: {
    /** Waiting for a worker, milliseconds */
    queue: number;
    /** Decoding the pictures, milliseconds */
    decode: number;
    /** Finding faces, with all detection steps, milliseconds */
    detect: number;
    /** Finding landmarks, checking the faces, and aligning them, milliseconds */
    align: number;
    /** Turning each face into a vector, and telling live ones where asked for, milliseconds */
    embed: number;
    /** From the last byte of the request to the answer, milliseconds */
    total: number;
  };
}
/** An image and its faces. */
export interface Image {
  /** Width of the upright image, pixels */
  width: number;
  /** Height of the upright image, pixels */
  height: number;
  /** As recognised by content. `jpeg`: JPEG; `png`: PNG; `webp`: WebP. */
  format: 'jpeg' | 'png' | 'webp';
  /** EXIF orientation of the file; 1 when it has none */
  orientation: number;
  /**
   * Largest first (area of the box × detection score), at most 20
   *
   * @minItems 1
   * @maxItems 20
   */
  faces: Face[];
  /** The face that the answer is about */
  face_index: number;
}
/** A face. Coordinates are pixels of the upright picture, that is after its EXIF orientation; the origin is top left. */
export interface Face {
  /** Position in the list; what a face index in the form counts */
  index: number;
  /** Where the face is, pixels */
  box: {
    /** Left edge; negative when the face begins outside the picture */
    x: number;
    /** Upper edge; negative when the face begins outside the picture */
    y: number;
    /** Width */
    width: number;
    /** Height */
    height: number;
  };
  /** Five points; left and right are the person's own */
  landmarks: {
    /** Middle of the right eye, pixels */
    right_eye: [number, number];
    /** Middle of the left eye, pixels */
    left_eye: [number, number];
    /** Tip of the nose, pixels */
    nose: [number, number];
    /** Right corner of the mouth, pixels */
    mouth_right: [number, number];
    /** Left corner of the mouth, pixels */
    mouth_left: [number, number];
  };
  /** How sure the detector is that this is a face; for a face that the first detection step did not find, in an enlarged crop */
  detection_score: number;
  /** Which detection step found the face: `primary`: the first one, on the whole image; `tiled`: on overlapping tiles, for small faces; `rotated`: on the rotated image; `padded`: with a border around the image, for faces larger than the frame; `enhanced`: with the contrast raised, or the dots of a print merged. */
  found_by: 'primary' | 'tiled' | 'rotated' | 'padded' | 'enhanced';
  /** How certainly this is a human face: faces below the pack's threshold are dropped, see `human.bar` in GET models */
  human_score?: number;
  /** Above 0 nose and mouth are covered, as by a mask; absent when the pack cannot tell */
  occlusion_score?: number;
  /** How likely the face stands before the camera itself, rather than on a photo or a screen: a hint, never a verdict alone. Only where `detect_presentation_attack` or `reject_presentation_attack` asks for it */
  live_score?: number;
  /** How the head is turned, degrees; all zero is straight into the camera */
  pose: {
    /** Positive: the person looks to their own left */
    yaw: number;
    /** Positive: upwards */
    pitch: number;
    /** Positive: the head leans towards their own left shoulder */
    roll: number;
  };
  /** Measured quality of the image of the face */
  quality: {
    /** How much detail a further blur would remove (Crete et al. 2007), independent of size, contrast and brightness: 0.6 to 0.7 is a sharp photo, below 0.5 is clearly blurred */
    sharpness: number;
    /** Mean luma of the face: 0 is black, 1 is white */
    brightness: number;
    /** Side of the aligned face, in pixels of the picture */
    face_pixels: number;
  };
}
/** Two faces that were compared. */
export interface Pair {
  /** A face of image1 */
  image1_face_index: number;
  /** A face of image2 */
  image2_face_index: number;
  /** As in the answer, for this pair */
  similarity: number;
  /** As in the answer, for this pair */
  confidence_percent: number;
}
/** Something that was accepted but may not be what you meant. It never changes the verdict. */
export interface Warning {
  /** What it is about. `unknown_field`: the endpoint does not know the field, and ignored it; `query_ignored`: a field of the endpoint stands in the query of the address, where it counts for nothing; `threshold_below_one`: the threshold is above 0 and below 1 percent: a share of 1 may be meant; `look_cut_short`: the search for faces took too long and was stopped; there may be more faces; `not_the_largest_face`: the compared face is not the one with the largest box of its image, and was not chosen by its index; `low_quality_face`: the compared face is so poor that the same person is recognised less often; `best_of_many`: several images match: if you take only the best, the number of images counts; `pack_not_calibrated`: nobody measured how often strangers score this high with the model pack: the percent is 40 × the similarity and cannot pass 40. */
  code:
    | 'unknown_field'
    | 'query_ignored'
    | 'threshold_below_one'
    | 'look_cut_short'
    | 'not_the_largest_face'
    | 'low_quality_face'
    | 'best_of_many'
    | 'pack_not_calibrated';
  /** Name of the field; with `look_cut_short`, `not_the_largest_face` and `low_quality_face`, the picture, whose `face_index` names the face; with `pack_not_calibrated`, `model` */
  field: string;
  /** With `not_the_largest_face` only, the compared face */
  face_index?: number;
  /** With `low_quality_face` only, what the face is. `small`: too small (face_pixels below 36); `blurred`: blurred (sharpness below 0.55); `bright`: overexposed (brightness beyond 0.8); `turned`: turned to the side (yaw beyond 45); `occluded`: covered over nose and mouth (occlusion_score beyond 0). */
  reason?: 'small' | 'blurred' | 'bright' | 'turned' | 'occluded';
  /** What happened and what to do about it, for people */
  detail: string;
}
/** One picture against several. `face_index` of image1 names the face of the best result. */
export interface ManyAnswer {
  /** The same as in the X-Request-Id header */
  request_id: string;
  /** The threshold that was applied */
  threshold_percent: number;
  /** The mode that was used */
  accuracy_mode: 'fast' | 'balance';
  image1: Image;
  /**
   * One for each image2, in the order sent
   *
   * @minItems 1
   * @maxItems 16
   */
  results: (Compared | Uncompared)[];
  /** How many of them match */
  matches: number;
  /** The model pack of the answer; see GET models */
  model: {
    /** Name of the model pack */
    pack: string;
    /** Its version */
    version: string;
  };
  /** Empty when there is nothing to say */
  warnings: Warning[];
  /** Where the time went; in the Server-Timing header as well */
  timings_ms: {
    /** Waiting for a worker, milliseconds */
    queue: number;
    /** Decoding the pictures, milliseconds */
    decode: number;
    /** Finding faces, with all detection steps, milliseconds */
    detect: number;
    /** Finding landmarks, checking the faces, and aligning them, milliseconds */
    align: number;
    /** Turning each face into a vector, and telling live ones where asked for, milliseconds */
    embed: number;
    /** From the last byte of the request to the answer, milliseconds */
    total: number;
  };
}
/** A picture that was compared with image1. */
export interface Compared {
  /** Its position among those sent */
  index: number;
  /** Its name, as sent */
  filename?: string;
  /** Whether confidence_percent, before it is rounded, reaches threshold_percent */
  match: boolean;
  /** Confidence that both are the same person. From 40 on: 30 + 10 × −log10 of the false-match rate, so that ten points more are ten times fewer false matches */
  confidence_percent: number;
  /** Cosine of the two embeddings; not comparable between model packs */
  similarity: number;
  /** How often two different people score at least this high, corrected for the number of compared pairs; for each pair never below the floor of the pack's table, see GET models; 1 when the pack has no table */
  false_match_rate: number;
  /** true when the score is beyond what the pack's people can show: false_match_rate is then an upper bound (the floor times the number of pairs), and confidence_percent is extrapolated. Always true when the pack is not calibrated */
  extrapolated: boolean;
  /** The face of image1 that it is most similar to */
  image1_face_index: number;
  image2: Image;
  /** How many pairs of faces were compared */
  pairs_compared: number;
  /** Warnings about this image */
  warnings: Warning[];
}
/** A picture that could not be compared. */
export interface Uncompared {
  /** Its position among those sent */
  index: number;
  /** Its name, as sent */
  filename?: string;
  /** What is wrong with it, like the problem of a match */
  problem: {
    /** For programs */
    code:
      | 'missing_field'
      | 'image_too_large'
      | 'unsupported_image_format'
      | 'image_decode_failed'
      | 'image_dimensions'
      | 'image_too_complex'
      | 'no_face_found'
      | 'low_quality_face'
      | 'presentation_attack';
    /** The HTTP status that stands for it */
    status: number;
    /** What is wrong, the same text each time */
    title: string;
    /** What to do about it, for people */
    detail: string;
    /** What the bytes look like. `heic`: HEIC or HEIF, as phones write it; `avif`: AVIF; `gif`: GIF; `bmp`: BMP; `tiff`: TIFF; `pdf`: PDF; `jp2`: JPEG 2000, as on the chips of passports; `jxl`: JPEG XL; `arithmetic_jpeg`: a JPEG with arithmetic coding; `unusual_jpeg`: a lossless or hierarchical JPEG, or one of 12 bits a sample; `jpeg_as_text`: a JPEG that a program read or wrote as text; `html`: an HTML page; `base64`: base64; `data_url`: a data: URL; `url`: an address; `path`: the name of a file; `text`: other text; `unknown`: none of these. */
    detected?:
      | 'heic'
      | 'avif'
      | 'gif'
      | 'bmp'
      | 'tiff'
      | 'pdf'
      | 'jp2'
      | 'jxl'
      | 'arithmetic_jpeg'
      | 'unusual_jpeg'
      | 'jpeg_as_text'
      | 'html'
      | 'base64'
      | 'data_url'
      | 'url'
      | 'path'
      | 'text'
      | 'unknown';
    /** Width that the image declares, pixels */
    width?: number;
    /** Height that the image declares, pixels */
    height?: number;
    /** The most pixels, width × height, that are accepted */
    limit_pixels?: number;
    /** The most bytes that are accepted */
    limit_bytes?: number;
    /** With `low_quality_face` only, what the face is */
    reasons?: ('small' | 'blurred' | 'bright' | 'turned' | 'occluded')[];
    /** With `presentation_attack` only, the face */
    face_index?: number;
    /** How likely the face stands before the camera itself, rather than on a photo or a screen: a hint, never a verdict alone */
    live_score?: number;
  };
}
/** One embedding against many. */
export interface EmbeddingsAnswer {
  /** The same as in the X-Request-Id header */
  request_id: string;
  /** The threshold that was applied */
  threshold_percent: number;
  /** The mode that was used */
  accuracy_mode: 'fast' | 'balance';
  /** The number that each false_match_rate is multiplied by */
  searched: number;
  /**
   * Best first: at most `limit`, and none below `min_percent`
   *
   * @maxItems 1000
   *
   * Items: A candidate.
   */
  results: {
    /** As sent */
    id: string;
    /** Whether confidence_percent, before it is rounded, reaches threshold_percent */
    match: boolean;
    /** Confidence that both are the same person. From 40 on: 30 + 10 × −log10 of the false-match rate, so that ten points more are ten times fewer false matches */
    confidence_percent: number;
    /** Cosine of the two embeddings; not comparable between model packs */
    similarity: number;
    /** How often two different people score at least this high, corrected for the number of compared pairs; for each pair never below the floor of the pack's table, see GET models; 1 when the pack has no table */
    false_match_rate: number;
    /** true when the score is beyond what the pack's people can show: false_match_rate is then an upper bound (the floor times the number of pairs), and confidence_percent is extrapolated. Always true when the pack is not calibrated */
    extrapolated: boolean;
  }[];
  /** How many candidates match, including those that `limit` leaves out */
  matches: number;
  /** The model pack of the answer; see GET models */
  model: {
    /** Name of the model pack */
    pack: string;
    /** Its version */
    version: string;
  };
  /** Empty when there is nothing to say */
  warnings: Warning[];
  /** Where the time went; in the Server-Timing header as well */
  timings_ms: {
    /** Waiting for a worker, milliseconds */
    queue: number;
    /** From the last byte of the request to the answer, milliseconds */
    total: number;
  };
}
/** The faces of one picture. */
export interface DetectAnswer {
  /** The same as in the X-Request-Id header */
  request_id: string;
  /** The mode that was used */
  accuracy_mode: 'fast' | 'balance';
  /** The image and its faces. */
  image: {
    /** Width of the upright image, pixels */
    width: number;
    /** Height of the upright image, pixels */
    height: number;
    /** As recognised by content. `jpeg`: JPEG; `png`: PNG; `webp`: WebP. */
    format: 'jpeg' | 'png' | 'webp';
    /** EXIF orientation of the file; 1 when it has none */
    orientation: number;
    /**
     * Largest first (area of the box × detection score), at most 20
     *
     * @maxItems 20
     */
    faces: DetectedFace[];
  };
  /** The model pack of the answer; see GET models */
  model: {
    /** Name of the model pack */
    pack: string;
    /** Its version */
    version: string;
  };
  /** Empty when there is nothing to say */
  warnings: Warning[];
  /** Where the time went; in the Server-Timing header as well */
  timings_ms: {
    /** Waiting for a worker, milliseconds */
    queue: number;
    /** Decoding the pictures, milliseconds */
    decode: number;
    /** Finding faces, with all detection steps, milliseconds */
    detect: number;
    /** Finding landmarks, checking the faces, and aligning them, milliseconds */
    align: number;
    /** Turning each face into a vector, and telling live ones where asked for, milliseconds */
    embed: number;
    /** From the last byte of the request to the answer, milliseconds */
    total: number;
  };
}
/** A face with its quality components. */
export interface DetectedFace {
  /** Position in the list; what a face index in the form counts */
  index: number;
  /** Where the face is, pixels */
  box: {
    /** Left edge; negative when the face begins outside the picture */
    x: number;
    /** Upper edge; negative when the face begins outside the picture */
    y: number;
    /** Width */
    width: number;
    /** Height */
    height: number;
  };
  /** Five points; left and right are the person's own */
  landmarks: {
    /** Middle of the right eye, pixels */
    right_eye: [number, number];
    /** Middle of the left eye, pixels */
    left_eye: [number, number];
    /** Tip of the nose, pixels */
    nose: [number, number];
    /** Right corner of the mouth, pixels */
    mouth_right: [number, number];
    /** Left corner of the mouth, pixels */
    mouth_left: [number, number];
  };
  /** How sure the detector is that this is a face; for a face that the first detection step did not find, in an enlarged crop */
  detection_score: number;
  /** Which detection step found the face: `primary`: the first one, on the whole image; `tiled`: on overlapping tiles, for small faces; `rotated`: on the rotated image; `padded`: with a border around the image, for faces larger than the frame; `enhanced`: with the contrast raised, or the dots of a print merged. */
  found_by: 'primary' | 'tiled' | 'rotated' | 'padded' | 'enhanced';
  /** How certainly this is a human face: faces below the pack's threshold are dropped, see `human.bar` in GET models */
  human_score?: number;
  /** Above 0 nose and mouth are covered, as by a mask; absent when the pack cannot tell */
  occlusion_score?: number;
  /** How likely the face stands before the camera itself, rather than on a photo or a screen: a hint, never a verdict alone. Only where `detect_presentation_attack` or `reject_presentation_attack` asks for it */
  live_score?: number;
  /** How the head is turned, degrees; all zero is straight into the camera */
  pose: {
    /** Positive: the person looks to their own left */
    yaw: number;
    /** Positive: upwards */
    pitch: number;
    /** Positive: the head leans towards their own left shoulder */
    roll: number;
  };
  /** Measured quality of the image of the face */
  quality: {
    /** How much detail a further blur would remove (Crete et al. 2007), independent of size, contrast and brightness: 0.6 to 0.7 is a sharp photo, below 0.5 is clearly blurred */
    sharpness: number;
    /** Mean luma of the face: 0 is black, 1 is white */
    brightness: number;
    /** Side of the aligned face, in pixels of the picture */
    face_pixels: number;
  };
  /** Quality by the names and mappings of ISO/IEC 29794-5 (OFIQ 1.0.3), 100 is best; not conformant, because OFIQ has other landmarks */
  quality_components: {
    /** Pixels between the eyes, as if the face looked straight: 50 at 70 pixels */
    inter_eye_distance: number;
    /** cos² of the yaw: 50 at 45 degrees */
    head_pose_yaw: number;
    /** cos² of the roll: 50 at 45 degrees */
    head_pose_roll: number;
  };
}
/** The faces of one picture, with embeddings. */
export interface EmbedAnswer {
  /** The same as in the X-Request-Id header */
  request_id: string;
  /** The mode that was used */
  accuracy_mode: 'fast' | 'balance';
  /** The image and its faces. */
  image: {
    /** Width of the upright image, pixels */
    width: number;
    /** Height of the upright image, pixels */
    height: number;
    /** As recognised by content. `jpeg`: JPEG; `png`: PNG; `webp`: WebP. */
    format: 'jpeg' | 'png' | 'webp';
    /** EXIF orientation of the file; 1 when it has none */
    orientation: number;
    /**
     * Largest first (area of the box × detection score), at most 20
     *
     * @minItems 1
     * @maxItems 20
     */
    faces: EmbeddedFace[];
  };
  /** The model pack of the answer; see GET models */
  model: {
    /** Name of the model pack */
    pack: string;
    /** Its version */
    version: string;
  };
  /** Empty when there is nothing to say */
  warnings: Warning[];
  /** Where the time went; in the Server-Timing header as well */
  timings_ms: {
    /** Waiting for a worker, milliseconds */
    queue: number;
    /** Decoding the pictures, milliseconds */
    decode: number;
    /** Finding faces, with all detection steps, milliseconds */
    detect: number;
    /** Finding landmarks, checking the faces, and aligning them, milliseconds */
    align: number;
    /** Turning each face into a vector, and telling live ones where asked for, milliseconds */
    embed: number;
    /** From the last byte of the request to the answer, milliseconds */
    total: number;
  };
  /** What is needed to compare the embeddings: only those of the same pack, version and mode can be compared */
  embedding: {
    /** Name of the model pack */
    pack: string;
    /** Its version */
    version: string;
    /** The mode that they were made in */
    accuracy_mode: 'fast' | 'balance';
    /** How many numbers each has */
    dimensions: number;
    /** Little-endian 32-bit floats, in base64 */
    encoding: 'float32-le-base64';
    /** Each is of length 1 */
    normalised: true;
  };
}
/** A face with its embedding. */
export interface EmbeddedFace {
  /** Position in the list; what a face index in the form counts */
  index: number;
  /** Where the face is, pixels */
  box: {
    /** Left edge; negative when the face begins outside the picture */
    x: number;
    /** Upper edge; negative when the face begins outside the picture */
    y: number;
    /** Width */
    width: number;
    /** Height */
    height: number;
  };
  /** Five points; left and right are the person's own */
  landmarks: {
    /** Middle of the right eye, pixels */
    right_eye: [number, number];
    /** Middle of the left eye, pixels */
    left_eye: [number, number];
    /** Tip of the nose, pixels */
    nose: [number, number];
    /** Right corner of the mouth, pixels */
    mouth_right: [number, number];
    /** Left corner of the mouth, pixels */
    mouth_left: [number, number];
  };
  /** How sure the detector is that this is a face; for a face that the first detection step did not find, in an enlarged crop */
  detection_score: number;
  /** Which detection step found the face: `primary`: the first one, on the whole image; `tiled`: on overlapping tiles, for small faces; `rotated`: on the rotated image; `padded`: with a border around the image, for faces larger than the frame; `enhanced`: with the contrast raised, or the dots of a print merged. */
  found_by: 'primary' | 'tiled' | 'rotated' | 'padded' | 'enhanced';
  /** How certainly this is a human face: faces below the pack's threshold are dropped, see `human.bar` in GET models */
  human_score?: number;
  /** Above 0 nose and mouth are covered, as by a mask; absent when the pack cannot tell */
  occlusion_score?: number;
  /** How likely the face stands before the camera itself, rather than on a photo or a screen: a hint, never a verdict alone. Only where `detect_presentation_attack` or `reject_presentation_attack` asks for it */
  live_score?: number;
  /** How the head is turned, degrees; all zero is straight into the camera */
  pose: {
    /** Positive: the person looks to their own left */
    yaw: number;
    /** Positive: upwards */
    pitch: number;
    /** Positive: the head leans towards their own left shoulder */
    roll: number;
  };
  /** Measured quality of the image of the face */
  quality: {
    /** How much detail a further blur would remove (Crete et al. 2007), independent of size, contrast and brightness: 0.6 to 0.7 is a sharp photo, below 0.5 is clearly blurred */
    sharpness: number;
    /** Mean luma of the face: 0 is black, 1 is white */
    brightness: number;
    /** Side of the aligned face, in pixels of the picture */
    face_pixels: number;
  };
  /** Quality by the names and mappings of ISO/IEC 29794-5 (OFIQ 1.0.3), 100 is best; not conformant, because OFIQ has other landmarks */
  quality_components: {
    /** Pixels between the eyes, as if the face looked straight: 50 at 70 pixels */
    inter_eye_distance: number;
    /** cos² of the yaw: 50 at 45 degrees */
    head_pose_yaw: number;
    /** cos² of the roll: 50 at 45 degrees */
    head_pose_roll: number;
  };
  /** Only for the faces that were asked for: numbers in the form that `embedding` of the answer describes */
  embedding?: string;
}
/** The model pack that is loaded. */
export interface ModelsAnswer {
  /** Name of the model pack */
  pack: string;
  /** Its version; answers may differ between versions */
  version: string;
  /** What it consists of */
  description: string;
  /** The origin of the pack's own nets */
  source: {
    /** What it is. `npm`: a package of the npm registry; `project`: a project that publishes its files elsewhere. */
    kind: 'npm' | 'project';
    /** Its name */
    name: string;
    /** Its version or commit */
    version: string;
    /** Its licence, as stated by it */
    licence: string;
  };
  /** What runs the nets */
  runtime: {
    /** Version of ONNX Runtime */
    onnxruntime: string;
    /**
     * Its execution providers, in order of preference: `cpu` alone unless FACEMATCH_PROVIDER says otherwise
     *
     * @minItems 1
     */
    providers: string[];
  };
  /** The nets in the order in which they process an image, then the other files */
  files: {
    /** What the net is for. `detector`: finds faces; `close_detector`: finds faces that fill the picture; `landmarks`: finds eyes, nose and mouth; `embedder`: turns a face into a vector; `cohort`: normalises similarities, so that one threshold serves different groups of people; `human`: tells human faces from those of animals; `occlusion`: tells faces whose nose and mouth are covered; `liveness`: gives hints at photos and screens before the camera, to requests that ask. */
    role:
      | 'detector'
      | 'close_detector'
      | 'landmarks'
      | 'embedder'
      | 'cohort'
      | 'human'
      | 'occlusion'
      | 'liveness';
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
  /** Default of the form field `min_det_score` */
  min_det_score: number;
  /** The check for human faces; absent when the pack takes every face */
  human?: {
    /** The threshold: faces with a lower `human_score` are dropped */
    bar: number;
    /** The images that it was made from */
    fitted_on: string;
  };
  /** The hint at presentation attacks; absent when the pack has none */
  liveness?: {
    /** Default of the form field `live_threshold` */
    live_threshold: number;
  };
  /** One table for each accuracy mode; absent when the pack is not calibrated: its answers then have the warning `pack_not_calibrated` */
  calibration?: {
    fast: Calibration;
    balance: Calibration;
  };
}
/** The table from similarity to false-match rate. */
export interface Calibration {
  /** The pairs of pictures that the table was made from */
  fitted_on: string;
  /**
   * Rising similarities, falling rates; between points the logarithm of the rate is linear
   *
   * @minItems 2
   */
  points: [number, number][];
  /** The lowest false-match rate that the people of the fit can show; below it an answer is `extrapolated` */
  floor: number;
}
/** The body is not well-formed multipart/form-data. Send multipart/form-data with a boundary, closed by its final boundary; most HTTP clients do this when given a form. */
export interface InvalidMultipartProblem {
  /** The HTTP status */
  status: 400;
  /** What is wrong, for programs */
  code: 'invalid_multipart';
}
/** The body is not well-formed JSON. Send JSON in UTF-8; "position" is the character at which something is wrong. */
export interface InvalidJsonProblem {
  /** The HTTP status */
  status: 400;
  /** What is wrong, for programs */
  code: 'invalid_json';
  /** The character at which the JSON is wrong, counted from 0 */
  position: number;
}
/** A required field is missing or empty. Send both image1 and image2, each with the bytes of a picture. */
export interface MissingFieldProblem {
  /** The HTTP status */
  status: 400;
  /** What is wrong, for programs */
  code: 'missing_field';
  /** Name of the form field */
  field: 'image1' | 'image2' | 'image';
}
/** A field has a value of the wrong form or out of range. Correct the field named in "field"; "expected" says what it takes. */
export interface InvalidFieldProblem {
  /** The HTTP status */
  status: 400;
  /** What is wrong, for programs */
  code: 'invalid_field';
  /** Name of the form field; with embeddings, a pointer to the member (RFC 6901) */
  field: string;
  /** What the field takes */
  expected: string;
  /** In a picture in base64, the character of the body that is wrong */
  position?: number;
}
/** There are too many pictures. Send fewer pictures at once; "limit" is the most that can be compared with one by this key. */
export interface TooManyImagesProblem {
  /** The HTTP status */
  status: 400;
  /** What is wrong, for programs */
  code: 'too_many_images';
  /** The most images that are accepted */
  limit: number;
}
/** A field was sent twice. Send each field once. */
export interface DuplicateFieldProblem {
  /** The HTTP status */
  status: 400;
  /** What is wrong, for programs */
  code: 'duplicate_field';
  /** Name of the form field */
  field:
    | 'image1'
    | 'image2'
    | 'threshold_percent'
    | 'image1_face_index'
    | 'image2_face_index'
    | 'accuracy_mode'
    | 'use_heuristic_fallback'
    | 'min_det_score'
    | 'auto_pair_best'
    | 'reject_low_quality'
    | 'detect_presentation_attack'
    | 'reject_presentation_attack'
    | 'live_threshold'
    | 'image'
    | 'face_index';
}
/** No API key. Send your key in the x-api-key header, or as Authorization: Bearer. */
export interface MissingApiKeyProblem {
  /** The HTTP status */
  status: 401;
  /** What is wrong, for programs */
  code: 'missing_api_key';
}
/** The API key is not valid. The key is unknown, revoked or expired; ask the operator for a new one. */
export interface InvalidApiKeyProblem {
  /** The HTTP status */
  status: 401;
  /** What is wrong, for programs */
  code: 'invalid_api_key';
}
/** The key may not use this endpoint. Ask the operator for a key with the scope named in "required_scope". */
export interface ForbiddenScopeProblem {
  /** The HTTP status */
  status: 403;
  /** What is wrong, for programs */
  code: 'forbidden_scope';
  /** The scope that the key lacks */
  required_scope: string;
}
/** No such endpoint. Check the host, the version prefix and the exact path. */
export interface NotFoundProblem {
  /** The HTTP status */
  status: 404;
  /** What is wrong, for programs */
  code: 'not_found';
}
/** This endpoint is switched off. The operator has disabled this endpoint on this server. */
export interface EndpointDisabledProblem {
  /** The HTTP status */
  status: 404;
  /** What is wrong, for programs */
  code: 'endpoint_disabled';
}
/** This path takes another method. Use a method listed in the Allow header. */
export interface MethodNotAllowedProblem {
  /** The HTTP status */
  status: 405;
  /** What is wrong, for programs */
  code: 'method_not_allowed';
}
/** The body did not arrive in time. Send the pictures faster, or smaller ones. */
export interface UploadTimeoutProblem {
  /** The HTTP status */
  status: 408;
  /** What is wrong, for programs */
  code: 'upload_timeout';
}
/** The body is too large. Send smaller pictures; "limit_bytes" is the most a body may have. */
export interface BodyTooLargeProblem {
  /** The HTTP status */
  status: 413;
  /** What is wrong, for programs */
  code: 'body_too_large';
  /** The most bytes that are accepted */
  limit_bytes: number;
}
/** An image is too large. Send a smaller picture; "limit_bytes" is the most an image may have. */
export interface ImageTooLargeProblem {
  /** The HTTP status */
  status: 413;
  /** What is wrong, for programs */
  code: 'image_too_large';
  /** The most bytes that are accepted */
  limit_bytes: number;
  /** Name of the form field */
  field: 'image1' | 'image2' | 'image';
}
/** The body is of a type that this endpoint does not take. Send the form as multipart/form-data with a boundary, or as application/json with the pictures in base64. */
export interface UnsupportedMediaTypeProblem {
  /** The HTTP status */
  status: 415;
  /** What is wrong, for programs */
  code: 'unsupported_media_type';
}
/** The image is of a format that is not supported. Send JPEG, PNG or WebP; "detected" says what this looks like. An iPhone converts HEIC itself for a file input with accept="image/jpeg"; on a server use heif-convert. */
export interface UnsupportedImageFormatProblem {
  /** The HTTP status */
  status: 415;
  /** What is wrong, for programs */
  code: 'unsupported_image_format';
  /**
   * One for each faulty image, in the order of the form; absent when `field` names the only one
   *
   * @minItems 1
   * @maxItems 2
   */
  errors?: {
    /** The picture */
    field: 'image1' | 'image2' | 'image';
    /** What is wrong with it */
    code:
      | 'unsupported_image_format'
      | 'image_decode_failed'
      | 'image_dimensions'
      | 'image_too_complex'
      | 'no_face_found'
      | 'face_index_out_of_range';
    /** What the bytes look like. `heic`: HEIC or HEIF, as phones write it; `avif`: AVIF; `gif`: GIF; `bmp`: BMP; `tiff`: TIFF; `pdf`: PDF; `jp2`: JPEG 2000, as on the chips of passports; `jxl`: JPEG XL; `arithmetic_jpeg`: a JPEG with arithmetic coding; `unusual_jpeg`: a lossless or hierarchical JPEG, or one of 12 bits a sample; `jpeg_as_text`: a JPEG that a program read or wrote as text; `html`: an HTML page; `base64`: base64; `data_url`: a data: URL; `url`: an address; `path`: the name of a file; `text`: other text; `unknown`: none of these. */
    detected?:
      | 'heic'
      | 'avif'
      | 'gif'
      | 'bmp'
      | 'tiff'
      | 'pdf'
      | 'jp2'
      | 'jxl'
      | 'arithmetic_jpeg'
      | 'unusual_jpeg'
      | 'jpeg_as_text'
      | 'html'
      | 'base64'
      | 'data_url'
      | 'url'
      | 'path'
      | 'text'
      | 'unknown';
    /** Width that the image declares, pixels */
    width?: number;
    /** Height that the image declares, pixels */
    height?: number;
    /** The most pixels, width × height, that are accepted */
    limit_pixels?: number;
    /** How many faces were found in the picture */
    faces_found?: number;
  }[];
  /** Name of the form field */
  field: 'image1' | 'image2' | 'image';
  /** What the bytes look like. `heic`: HEIC or HEIF, as phones write it; `avif`: AVIF; `gif`: GIF; `bmp`: BMP; `tiff`: TIFF; `pdf`: PDF; `jp2`: JPEG 2000, as on the chips of passports; `jxl`: JPEG XL; `arithmetic_jpeg`: a JPEG with arithmetic coding; `unusual_jpeg`: a lossless or hierarchical JPEG, or one of 12 bits a sample; `jpeg_as_text`: a JPEG that a program read or wrote as text; `html`: an HTML page; `base64`: base64; `data_url`: a data: URL; `url`: an address; `path`: the name of a file; `text`: other text; `unknown`: none of these. */
  detected:
    | 'heic'
    | 'avif'
    | 'gif'
    | 'bmp'
    | 'tiff'
    | 'pdf'
    | 'jp2'
    | 'jxl'
    | 'arithmetic_jpeg'
    | 'unusual_jpeg'
    | 'jpeg_as_text'
    | 'html'
    | 'base64'
    | 'data_url'
    | 'url'
    | 'path'
    | 'text'
    | 'unknown';
}
/** The expectation cannot be met. Send `Expect: 100-continue`, or no Expect header. */
export interface ExpectationFailedProblem {
  /** The HTTP status */
  status: 417;
  /** What is wrong, for programs */
  code: 'expectation_failed';
}
/** The image is damaged. The picture cannot be decoded; send an intact one. */
export interface ImageDecodeFailedProblem {
  /** The HTTP status */
  status: 422;
  /** What is wrong, for programs */
  code: 'image_decode_failed';
  /**
   * One for each faulty image, in the order of the form; absent when `field` names the only one
   *
   * @minItems 1
   * @maxItems 2
   */
  errors?: {
    /** The picture */
    field: 'image1' | 'image2' | 'image';
    /** What is wrong with it */
    code:
      | 'unsupported_image_format'
      | 'image_decode_failed'
      | 'image_dimensions'
      | 'image_too_complex'
      | 'no_face_found'
      | 'face_index_out_of_range';
    /** What the bytes look like. `heic`: HEIC or HEIF, as phones write it; `avif`: AVIF; `gif`: GIF; `bmp`: BMP; `tiff`: TIFF; `pdf`: PDF; `jp2`: JPEG 2000, as on the chips of passports; `jxl`: JPEG XL; `arithmetic_jpeg`: a JPEG with arithmetic coding; `unusual_jpeg`: a lossless or hierarchical JPEG, or one of 12 bits a sample; `jpeg_as_text`: a JPEG that a program read or wrote as text; `html`: an HTML page; `base64`: base64; `data_url`: a data: URL; `url`: an address; `path`: the name of a file; `text`: other text; `unknown`: none of these. */
    detected?:
      | 'heic'
      | 'avif'
      | 'gif'
      | 'bmp'
      | 'tiff'
      | 'pdf'
      | 'jp2'
      | 'jxl'
      | 'arithmetic_jpeg'
      | 'unusual_jpeg'
      | 'jpeg_as_text'
      | 'html'
      | 'base64'
      | 'data_url'
      | 'url'
      | 'path'
      | 'text'
      | 'unknown';
    /** Width that the image declares, pixels */
    width?: number;
    /** Height that the image declares, pixels */
    height?: number;
    /** The most pixels, width × height, that are accepted */
    limit_pixels?: number;
    /** How many faces were found in the picture */
    faces_found?: number;
  }[];
  /** Name of the form field */
  field: 'image1' | 'image2' | 'image';
}
/** The image's width or height is out of range. Scale the picture to fit within "limit_pixels", with at most 65535 pixels on a side and at least the shortest side allowed. */
export interface ImageDimensionsProblem {
  /** The HTTP status */
  status: 422;
  /** What is wrong, for programs */
  code: 'image_dimensions';
  /**
   * One for each faulty image, in the order of the form; absent when `field` names the only one
   *
   * @minItems 1
   * @maxItems 2
   */
  errors?: {
    /** The picture */
    field: 'image1' | 'image2' | 'image';
    /** What is wrong with it */
    code:
      | 'unsupported_image_format'
      | 'image_decode_failed'
      | 'image_dimensions'
      | 'image_too_complex'
      | 'no_face_found'
      | 'face_index_out_of_range';
    /** What the bytes look like. `heic`: HEIC or HEIF, as phones write it; `avif`: AVIF; `gif`: GIF; `bmp`: BMP; `tiff`: TIFF; `pdf`: PDF; `jp2`: JPEG 2000, as on the chips of passports; `jxl`: JPEG XL; `arithmetic_jpeg`: a JPEG with arithmetic coding; `unusual_jpeg`: a lossless or hierarchical JPEG, or one of 12 bits a sample; `jpeg_as_text`: a JPEG that a program read or wrote as text; `html`: an HTML page; `base64`: base64; `data_url`: a data: URL; `url`: an address; `path`: the name of a file; `text`: other text; `unknown`: none of these. */
    detected?:
      | 'heic'
      | 'avif'
      | 'gif'
      | 'bmp'
      | 'tiff'
      | 'pdf'
      | 'jp2'
      | 'jxl'
      | 'arithmetic_jpeg'
      | 'unusual_jpeg'
      | 'jpeg_as_text'
      | 'html'
      | 'base64'
      | 'data_url'
      | 'url'
      | 'path'
      | 'text'
      | 'unknown';
    /** Width that the image declares, pixels */
    width?: number;
    /** Height that the image declares, pixels */
    height?: number;
    /** The most pixels, width × height, that are accepted */
    limit_pixels?: number;
    /** How many faces were found in the picture */
    faces_found?: number;
  }[];
  /** Name of the form field */
  field: 'image1' | 'image2' | 'image';
  /** Width that the image declares, pixels */
  width: number;
  /** Height that the image declares, pixels */
  height: number;
  /** The most pixels, width × height, that are accepted */
  limit_pixels: number;
}
/** The image takes too long to decode. Save the picture again, as an ordinary JPEG or with fewer pixels, and send that. */
export interface ImageTooComplexProblem {
  /** The HTTP status */
  status: 422;
  /** What is wrong, for programs */
  code: 'image_too_complex';
  /**
   * One for each faulty image, in the order of the form; absent when `field` names the only one
   *
   * @minItems 1
   * @maxItems 2
   */
  errors?: {
    /** The picture */
    field: 'image1' | 'image2' | 'image';
    /** What is wrong with it */
    code:
      | 'unsupported_image_format'
      | 'image_decode_failed'
      | 'image_dimensions'
      | 'image_too_complex'
      | 'no_face_found'
      | 'face_index_out_of_range';
    /** What the bytes look like. `heic`: HEIC or HEIF, as phones write it; `avif`: AVIF; `gif`: GIF; `bmp`: BMP; `tiff`: TIFF; `pdf`: PDF; `jp2`: JPEG 2000, as on the chips of passports; `jxl`: JPEG XL; `arithmetic_jpeg`: a JPEG with arithmetic coding; `unusual_jpeg`: a lossless or hierarchical JPEG, or one of 12 bits a sample; `jpeg_as_text`: a JPEG that a program read or wrote as text; `html`: an HTML page; `base64`: base64; `data_url`: a data: URL; `url`: an address; `path`: the name of a file; `text`: other text; `unknown`: none of these. */
    detected?:
      | 'heic'
      | 'avif'
      | 'gif'
      | 'bmp'
      | 'tiff'
      | 'pdf'
      | 'jp2'
      | 'jxl'
      | 'arithmetic_jpeg'
      | 'unusual_jpeg'
      | 'jpeg_as_text'
      | 'html'
      | 'base64'
      | 'data_url'
      | 'url'
      | 'path'
      | 'text'
      | 'unknown';
    /** Width that the image declares, pixels */
    width?: number;
    /** Height that the image declares, pixels */
    height?: number;
    /** The most pixels, width × height, that are accepted */
    limit_pixels?: number;
    /** How many faces were found in the picture */
    faces_found?: number;
  }[];
  /** Name of the form field */
  field: 'image1' | 'image2' | 'image';
}
/** No face was found. "errors" lists each image without a face; send a picture in which the face is clearly visible. */
export interface NoFaceFoundProblem {
  /** The HTTP status */
  status: 422;
  /** What is wrong, for programs */
  code: 'no_face_found';
  /**
   * One for each faulty image, in the order of the form
   *
   * @minItems 1
   * @maxItems 2
   */
  errors: {
    /** The picture */
    field: 'image1' | 'image2' | 'image';
    /** What is wrong with it */
    code:
      | 'unsupported_image_format'
      | 'image_decode_failed'
      | 'image_dimensions'
      | 'image_too_complex'
      | 'no_face_found'
      | 'face_index_out_of_range';
    /** What the bytes look like. `heic`: HEIC or HEIF, as phones write it; `avif`: AVIF; `gif`: GIF; `bmp`: BMP; `tiff`: TIFF; `pdf`: PDF; `jp2`: JPEG 2000, as on the chips of passports; `jxl`: JPEG XL; `arithmetic_jpeg`: a JPEG with arithmetic coding; `unusual_jpeg`: a lossless or hierarchical JPEG, or one of 12 bits a sample; `jpeg_as_text`: a JPEG that a program read or wrote as text; `html`: an HTML page; `base64`: base64; `data_url`: a data: URL; `url`: an address; `path`: the name of a file; `text`: other text; `unknown`: none of these. */
    detected?:
      | 'heic'
      | 'avif'
      | 'gif'
      | 'bmp'
      | 'tiff'
      | 'pdf'
      | 'jp2'
      | 'jxl'
      | 'arithmetic_jpeg'
      | 'unusual_jpeg'
      | 'jpeg_as_text'
      | 'html'
      | 'base64'
      | 'data_url'
      | 'url'
      | 'path'
      | 'text'
      | 'unknown';
    /** Width that the image declares, pixels */
    width?: number;
    /** Height that the image declares, pixels */
    height?: number;
    /** The most pixels, width × height, that are accepted */
    limit_pixels?: number;
    /** How many faces were found in the picture */
    faces_found?: number;
  }[];
}
/** There is no face with that index. "faces_found" faces were found; indices start at 0, and -1 chooses automatically. */
export interface FaceIndexOutOfRangeProblem {
  /** The HTTP status */
  status: 422;
  /** What is wrong, for programs */
  code: 'face_index_out_of_range';
  /**
   * One for each faulty image, in the order of the form; absent when `field` names the only one
   *
   * @minItems 1
   * @maxItems 2
   */
  errors?: {
    /** The picture */
    field: 'image1' | 'image2' | 'image';
    /** What is wrong with it */
    code:
      | 'unsupported_image_format'
      | 'image_decode_failed'
      | 'image_dimensions'
      | 'image_too_complex'
      | 'no_face_found'
      | 'face_index_out_of_range';
    /** What the bytes look like. `heic`: HEIC or HEIF, as phones write it; `avif`: AVIF; `gif`: GIF; `bmp`: BMP; `tiff`: TIFF; `pdf`: PDF; `jp2`: JPEG 2000, as on the chips of passports; `jxl`: JPEG XL; `arithmetic_jpeg`: a JPEG with arithmetic coding; `unusual_jpeg`: a lossless or hierarchical JPEG, or one of 12 bits a sample; `jpeg_as_text`: a JPEG that a program read or wrote as text; `html`: an HTML page; `base64`: base64; `data_url`: a data: URL; `url`: an address; `path`: the name of a file; `text`: other text; `unknown`: none of these. */
    detected?:
      | 'heic'
      | 'avif'
      | 'gif'
      | 'bmp'
      | 'tiff'
      | 'pdf'
      | 'jp2'
      | 'jxl'
      | 'arithmetic_jpeg'
      | 'unusual_jpeg'
      | 'jpeg_as_text'
      | 'html'
      | 'base64'
      | 'data_url'
      | 'url'
      | 'path'
      | 'text'
      | 'unknown';
    /** Width that the image declares, pixels */
    width?: number;
    /** Height that the image declares, pixels */
    height?: number;
    /** The most pixels, width × height, that are accepted */
    limit_pixels?: number;
    /** How many faces were found in the picture */
    faces_found?: number;
  }[];
  /** Name of the form field */
  field: 'image1' | 'image2' | 'image';
  /** How many faces were found in the picture */
  faces_found: number;
}
/** A compared face is too poor. "errors" lists each image with such a face and the reasons; send a better picture of it. */
export interface LowQualityFaceProblem {
  /** The HTTP status */
  status: 422;
  /** What is wrong, for programs */
  code: 'low_quality_face';
  /**
   * One for each image whose compared face is too poor
   *
   * @minItems 1
   * @maxItems 2
   */
  errors: {
    /** The picture */
    field: 'image1' | 'image2' | 'image';
    /**
     * Why the face is too poor, as in the `reason` of a warning
     *
     * @minItems 1
     * @maxItems 5
     */
    reasons: ('small' | 'blurred' | 'bright' | 'turned' | 'occluded')[];
  }[];
}
/** A face looks like one on a photo or a screen. "errors" lists each such face with its live_score; take a new picture of the person. It is a hint and often wrong: let a person decide. */
export interface PresentationAttackProblem {
  /** The HTTP status */
  status: 422;
  /** What is wrong, for programs */
  code: 'presentation_attack';
  /**
   * One for each face that was compared, or would be embedded, and looks like an attack
   *
   * @minItems 1
   * @maxItems 20
   */
  errors: {
    /** The picture */
    field: 'image1' | 'image2' | 'image';
    /** The face, counted from 0, largest first */
    face_index: number;
    /** Below `live_threshold` */
    live_score: number;
  }[];
}
/** The embeddings are of another model pack. Embed the images again with "expected": embeddings of "given" cannot be compared with it. */
export interface EmbeddingMismatchProblem {
  /** The HTTP status */
  status: 422;
  /** What is wrong, for programs */
  code: 'embedding_mismatch';
  /** Pack and version of this server */
  expected: string;
  /** What was sent */
  given: string;
}
/** An embedding is malformed. Send the embedding named in "field" as embed gave it. */
export interface InvalidEmbeddingProblem {
  /** The HTTP status */
  status: 422;
  /** What is wrong, for programs */
  code: 'invalid_embedding';
  /** A pointer to the embedding (RFC 6901) */
  field: string;
}
/** Rate limit exceeded. Wait as long as Retry-After says, then send again. */
export interface RateLimitExceededProblem {
  /** The HTTP status */
  status: 429;
  /** What is wrong, for programs */
  code: 'rate_limit_exceeded';
}
/** Internal error. Something went wrong on our side; quote the request_id to the operator. */
export interface InternalErrorProblem {
  /** The HTTP status */
  status: 500;
  /** What is wrong, for programs */
  code: 'internal_error';
}
/** The server is at its limit. Wait as long as Retry-After says, then send again. */
export interface OverloadedProblem {
  /** The HTTP status */
  status: 503;
  /** What is wrong, for programs */
  code: 'overloaded';
}
/** The server is not ready yet. Wait as long as Retry-After says, then send again. */
export interface NotReadyProblem {
  /** The HTTP status */
  status: 503;
  /** What is wrong, for programs */
  code: 'not_ready';
}
/** The server is shutting down. Send the request again; another server or the restarted one will take it. */
export interface ShuttingDownProblem {
  /** The HTTP status */
  status: 503;
  /** What is wrong, for programs */
  code: 'shutting_down';
}
/** The deadline passed before there was an answer. The server was too busy to answer in time; send again later. */
export interface DeadlineExceededProblem {
  /** The HTTP status */
  status: 504;
  /** What is wrong, for programs */
  code: 'deadline_exceeded';
}

// By hand: the forms, and names for parts of the answers.

/** The form of the basic endpoint. Each becomes a part of the form; what is no picture, as text: `String(value)`. */
export interface MatchFields<Picture = unknown> extends MatchValues {
  image1: Picture;
  image2: Picture;
}

/** The form of the advanced endpoint. */
export interface AdvancedMatchFields<Picture = unknown> extends AdvancedMatchValues {
  image1: Picture;
  image2: Picture;
}

/** The form of one against many. */
export interface ManyFields<Picture = unknown> extends ManyValues {
  image1: Picture;
  image2: Picture[];
}

/** The form of detect. */
export interface DetectFields<Picture = unknown> extends DetectValues {
  image: Picture;
}

/** The form of embed. */
export interface EmbedFields<Picture = unknown> extends EmbedValues {
  image: Picture;
}

export type FieldName = keyof AdvancedMatchFields;
export type ImageField = Exclude<FieldName, keyof AdvancedMatchValues>;
export type AccuracyMode = MatchAnswer['accuracy_mode'];
export type Model = MatchAnswer['model'];
export type Timings = MatchAnswer['timings_ms'];
export type ImageFormat = Image['format'];
export type Box = Face['box'];
export type Landmarks = Face['landmarks'];
export type FoundBy = Face['found_by'];
export type Pose = Face['pose'];
export type Quality = Face['quality'];
export type WarningCode = Warning['code'];
export type QualityReason = NonNullable<Warning['reason']>;

/** What is wrong, for programs. New codes may come. */
export type ErrorCode = AnyProblem['code'];

/** What every problem has (RFC 9457). */
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

/** Every answer that is not 200: `application/problem+json`. `code` tells which members it has. */
export type Problem<Code extends ErrorCode = ErrorCode> = ProblemBase & Extract<AnyProblem, { code: Code }>;
