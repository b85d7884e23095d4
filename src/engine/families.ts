/**
 * The families of detectors, of which native/core/find/families has a file each: how a manifest describes their outputs, and how
 * nets of them are fed that `facematch packs add` is given.
 */

interface Family {
  /** The members that name outputs: one, or one for each stride. */
  outputs: Readonly<Record<string, 'one' | 'each'>>;
  /** Pixels from cell to cell of each grid, where they are not the manifest's. */
  strides?: readonly number[];
  /** What a cell has, where the manifest says that and the strides. */
  cells?: 'anchors' | 'priors';
  /** Whether sides are multiples of the largest stride. */
  wholeCells?: true;
  /** What a file cannot say of itself; absent for a family that `packs add` does not know. */
  usual?: Usual;
}

export interface Fed {
  channels: 'rgb' | 'bgr';
  /** May be one for each channel. */
  mean: number | readonly number[];
  scale: number;
}

interface Usual {
  feeding: Fed;
  nms_iou: number;
  min_det_score: number;
  second_look_score: number;
  /** Width and height where the file leaves them open. */
  side: number;
  /** Whose numbers these are. */
  source: string;
  /** What the manifest says of cells. */
  grids?: Readonly<Record<string, unknown>>;
}

const strides = [8, 16, 32];

/** As Pytorch_Retinaface's nets are fed and decoded, whatever their outputs. */
const retinaface: Usual = {
  feeding: { channels: 'bgr', mean: [104, 117, 123], scale: 1 },
  nms_iou: 0.4,
  min_det_score: 0.7,
  second_look_score: 0.75,
  side: 640,
  source: "as Pytorch_Retinaface's config.py and detect.py have it",
  grids: {
    strides,
    priors: [
      [16, 32],
      [64, 128],
      [256, 512],
    ],
    variances: [0.1, 0.2],
  },
};

/** As Ultra-Light's nets are fed, whether they decode their own boxes or not. */
const ultraLight: Usual = {
  feeding: { channels: 'rgb', mean: 127, scale: 1 / 128 },
  nms_iou: 0.4,
  min_det_score: 0.7,
  second_look_score: 0.9,
  side: 320,
  source: 'as in the default pack',
};

const yolo: Usual = {
  feeding: { channels: 'rgb', mean: 0, scale: 1 / 255 },
  nms_iou: 0.5,
  min_det_score: 0.5,
  second_look_score: 0.6,
  side: 640,
  source: 'as YOLOv5-face and YOLOv8-face feed theirs',
};

/** The families that files are tried for come first, the likeliest before. */
const table = {
  scrfd: {
    outputs: { scores: 'each', boxes: 'each' },
    cells: 'anchors',
    wholeCells: true,
    usual: {
      feeding: { channels: 'rgb', mean: 127.5, scale: 1 / 128 },
      nms_iou: 0.4,
      min_det_score: 0.5,
      second_look_score: 0.6,
      side: 640,
      source: "as InsightFace's scrfd.py feeds it",
      grids: { strides, anchors: 2 },
    },
  },
  yunet: {
    outputs: { cls: 'each', obj: 'each', bbox: 'each' },
    strides,
    wholeCells: true,
    usual: {
      feeding: { channels: 'bgr', mean: 0, scale: 1 },
      nms_iou: 0.3,
      min_det_score: 0.7,
      second_look_score: 0.75,
      side: 320,
      source: 'as in the pack yunet',
    },
  },
  retinaface: { outputs: { scores: 'one', boxes: 'one' }, cells: 'priors', usual: retinaface },
  retinaface_joined: { outputs: { joined: 'one' }, cells: 'priors', usual: retinaface },
  rfb: { outputs: { scores: 'one', offsets: 'one' }, usual: ultraLight },
  ssd_decoded: { outputs: { scores: 'one', boxes: 'one' }, usual: ultraLight },
  yolov5_face: { outputs: { grids: 'each' }, strides, wholeCells: true, usual: yolo },
  yolov5_decoded: {
    outputs: { boxes: 'one' },
    cells: 'anchors',
    wholeCells: true,
    usual: { ...yolo, grids: { strides, anchors: 3 } },
  },
  yolov8_face: { outputs: { grids: 'each' }, strides, wholeCells: true, usual: yolo },
  yolov8_decoded: { outputs: { boxes: 'one' }, strides, wholeCells: true, usual: yolo },
  blazeface: {
    outputs: { boxes: 'one', scores: 'one' },
    strides: [8, 16],
    wholeCells: true,
    usual: {
      feeding: { channels: 'rgb', mean: 127.5, scale: 1 / 127.5 },
      nms_iou: 0.3,
      min_det_score: 0.7,
      second_look_score: 0.7,
      side: 128,
      source: 'as in the default pack',
    },
  },
} as const satisfies Record<string, Family>;

export type FamilyName = keyof typeof table;
export const families: Readonly<Record<FamilyName, Family>> = table;
export const familyNames = Object.keys(table) as FamilyName[];

export const usualFamilies = familyNames.filter((name) => families[name].usual !== undefined);

/** Families of nets for presentation attacks, of which native/core/embed/liveness.cpp has a line each. */
export const livenessFamilies = {
  minifasnet: { classes: [3], side: 80, fed: 'BGR, bytes as they are', live: 'second' },
  celeba_spoof: { classes: [2, 3], side: 128, fed: 'RGB, bytes / 255', live: 'first' },
} as const satisfies Record<string, { classes: readonly number[]; side: number; fed: string; live: string }>;

export type LivenessFamily = keyof typeof livenessFamilies;

/** How embedders of the family arcface are fed, by who publishes such nets. */
export const feedings = {
  insightface: { channels: 'rgb', mean: 127.5, scale: 1 / 127.5 },
  sface: { channels: 'rgb', mean: 0, scale: 1 },
  adaface: { channels: 'bgr', mean: 127.5, scale: 1 / 127.5 },
} as const satisfies Record<string, Fed>;

export type Feeding = keyof typeof feedings;
