import type { Detect } from '../endpoints/detect.ts';
import type { Embed } from '../endpoints/embed.ts';
import type { Match } from '../endpoints/match.ts';
import type { Embeddings } from '../endpoints/match-embeddings.ts';
import type { Many } from '../endpoints/match-many.ts';
import type { Models } from '../endpoints/models.ts';
import { kindWords } from '../engine/file-kind.ts';
import { withQualityComponents } from '../scoring/quality-components.ts';

/** Answers, as documents show them. */

const match: Match = {
  request_id: '01JD8ZK3V6Q4M9T2X7B5C1W0RN',
  match: true,
  confidence_percent: 87,
  threshold_percent: 70,
  similarity: 0.5907,
  false_match_rate: 0.00001,
  extrapolated: true,
  accuracy_mode: 'balance',
  image1: {
    width: 1280,
    height: 960,
    format: 'jpeg',
    orientation: 6,
    smallest_face: 72,
    faces: [
      {
        index: 0,
        box: { x: 512.4, y: 233, width: 181.2, height: 214.9 },
        landmarks: {
          right_eye: [560.1, 310.2],
          left_eye: [638, 309.5],
          nose: [599.7, 357],
          mouth_right: [568.3, 399.1],
          mouth_left: [631.9, 398],
        },
        detection_score: 0.998,
        found_by: 'primary',
        human_score: 5.3,
        occlusion_score: -6.2,
        pose: { yaw: -4.1, pitch: 2, roll: 0.5 },
        quality: { sharpness: 0.71, brightness: 0.55, face_pixels: 233, dot_pitch: 0, stretch: 1.04 },
      },
    ],
    face_index: 0,
  },
  image2: {
    width: 640,
    height: 640,
    format: 'webp',
    orientation: 1,
    smallest_face: 48,
    faces: [
      {
        index: 0,
        box: { x: 201.7, y: 148.3, width: 142.6, height: 171.8 },
        landmarks: {
          right_eye: [243.9, 211.6],
          left_eye: [306.2, 214],
          nose: [273.5, 250.8],
          mouth_right: [247.1, 283.3],
          mouth_left: [300.4, 285.2],
        },
        detection_score: 0.993,
        found_by: 'primary',
        human_score: 4.1,
        occlusion_score: -5.8,
        pose: { yaw: 6.3, pitch: -1.2, roll: -2.2 },
        quality: { sharpness: 0.64, brightness: 0.48, face_pixels: 186, dot_pitch: 0, stretch: 1.07 },
      },
    ],
    face_index: 0,
  },
  pairs_compared: 1,
  pairs: [{ image1_face_index: 0, image2_face_index: 0, similarity: 0.5907, confidence_percent: 87 }],
  model: { pack: 'default', version: '3.0.0' },
  warnings: [],
  timings_ms: { queue: 0.2, decode: 6.1, detect: 7.4, align: 2.5, embed: 11.2, total: 28.3 },
};

const { face_index: _, faces, ...image } = match.image1;
const detect: Detect = {
  request_id: match.request_id,
  accuracy_mode: 'balance',
  image: { ...image, faces: withQualityComponents(faces) },
  model: match.model,
  warnings: [],
  timings_ms: { queue: 0.2, decode: 3.1, detect: 3.7, align: 1.3, embed: 5.6, total: 14.4 },
};

const embed: Embed = {
  ...detect,
  image: {
    ...detect.image,
    faces: detect.image.faces.map((face) => ({ ...face, embedding: 'zcxMPc3MTL0=' })),
  },
  embedding: {
    ...detect.model,
    accuracy_mode: 'balance',
    dimensions: 512,
    encoding: 'float32-le-base64',
    normalised: true,
  },
};

const { request_id, threshold_percent, accuracy_mode, image1, image2, model, timings_ms } = match;
const many: Many = {
  request_id,
  threshold_percent,
  accuracy_mode,
  image1,
  results: [
    {
      index: 0,
      filename: 'two.jpg',
      match: match.match,
      confidence_percent: match.confidence_percent,
      similarity: match.similarity,
      false_match_rate: match.false_match_rate,
      extrapolated: match.extrapolated,
      image1_face_index: 0,
      image2,
      pairs_compared: 1,
      warnings: [],
    },
    {
      index: 1,
      filename: 'notes.txt',
      problem: {
        code: 'unsupported_image_format',
        status: 415,
        title: 'The image is of a format that is not supported',
        detail: `Send image2 as JPEG, PNG or WebP; this one ${kindWords({ detected: 'text', beginning: 'Notes of the meeting' })}`,
        detected: 'text',
      },
    },
  ],
  matches: 1,
  model,
  warnings: [],
  timings_ms,
};

const embeddings: Embeddings = {
  request_id,
  threshold_percent,
  accuracy_mode: 'balance',
  searched: 1_000_000,
  results: [
    {
      id: 'member-4711',
      match: true,
      confidence_percent: 74,
      similarity: 0.6832,
      false_match_rate: 0.00004,
      extrapolated: false,
    },
  ],
  matches: 1,
  model,
  warnings: [],
  timings_ms: { queue: 0.2, total: 1.1 },
};

const fitted = {
  fitted_on: '6,000 pairs of photos',
  points: [
    [-0.1, 1],
    [0.2, 0.01],
    [0.42, 0.0001],
  ] as [number, number][],
  floor: 0.00001,
};

const models: Models = {
  pack: 'default',
  version: '3.0.0',
  description: 'A detector, 68 landmarks and an embedding of 512 numbers',
  source: { kind: 'npm', name: 'some-package', version: '1.2.3', licence: 'MIT' },
  runtime: { onnxruntime: '1.30.0', providers: ['cpu'] },
  files: [
    {
      role: 'detector',
      file: 'detect.onnx',
      pack: 'default',
      licence: 'MIT',
      sha256: 'd6eb1c6ad8c1aa3a2d5a3ff8d5b6e1ad0f3a5f0f1d4e1c4b8d3f6a7e9c2b1a05',
      source_sha256: '0b1c2d3e4f5061728394a5b6c7d8e9f00112233445566778899aabbccddeeff0',
    },
  ],
  min_det_score: 0.7,
  human: { bar: -1.25, fitted_on: '6,000 photos of people and 3,000 of animals' },
  calibration: { fast: fitted, balance: fitted },
};

/** By the names of their components. */
export const answerExamples: Readonly<Record<string, object>> = {
  Match: match,
  Many: many,
  Embeddings: embeddings,
  Detect: detect,
  Embed: embed,
  Models: models,
};
