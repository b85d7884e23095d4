import type { FamilyName, InputScaling } from 'facematch/for-lab';

/** Facts about a detector family that the model files do not contain. */
interface FamilyDefaults {
  preprocessing: InputScaling;
  nms_iou: number;
  min_det_score: number;
  second_look_score: number;
  /** Width and height for a file that allows any input size. */
  side: number;
  /** Source of these numbers. */
  source: string;
  /** Further members of the manifest, which describe the grid of anchors. */
  grids?: Readonly<Record<string, unknown>>;
}

const strides = [8, 16, 32];

/** Defaults for the models of Pytorch_Retinaface, with separate or joined outputs. */
const retinaface: FamilyDefaults = {
  preprocessing: { channels: 'bgr', mean: [104, 117, 123], scale: 1 },
  nms_iou: 0.4,
  min_det_score: 0.7,
  second_look_score: 0.75,
  side: 640,
  source: "as in Pytorch_Retinaface's config.py and detect.py",
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

/** Defaults for the Ultra-Light models, whether they decode their own boxes or not. */
const ultraLight: FamilyDefaults = {
  preprocessing: { channels: 'rgb', mean: 127, scale: 1 / 128 },
  nms_iou: 0.4,
  min_det_score: 0.7,
  second_look_score: 0.9,
  side: 320,
  source: 'as in the default pack',
};

const yolo: FamilyDefaults = {
  preprocessing: { channels: 'rgb', mean: 0, scale: 1 / 255 },
  nms_iou: 0.5,
  min_det_score: 0.5,
  second_look_score: 0.6,
  side: 640,
  source: 'as in YOLOv5-face and YOLOv8-face',
};

/** Defaults for SCRFD with either layout of its output rows. */
const scrfd: FamilyDefaults = {
  preprocessing: { channels: 'rgb', mean: 127.5, scale: 1 / 128 },
  nms_iou: 0.4,
  min_det_score: 0.5,
  second_look_score: 0.6,
  side: 640,
  source: "as in InsightFace's scrfd.py",
  grids: { strides, anchors: 2 },
};

/** Defaults of the families that `packs add` recognizes, the most likely family first. */
export const familyDefaults: Readonly<Partial<Record<FamilyName, FamilyDefaults>>> = {
  scrfd,
  scrfd_maps: scrfd,
  yunet: {
    preprocessing: { channels: 'bgr', mean: 0, scale: 1 },
    nms_iou: 0.3,
    min_det_score: 0.7,
    second_look_score: 0.75,
    side: 320,
    source: 'as in the pack yunet',
  },
  retinaface,
  retinaface_joined: retinaface,
  rfb: ultraLight,
  ssd_decoded: ultraLight,
  yolov5_face: yolo,
  yolov5_decoded: { ...yolo, grids: { strides, anchors: 3 } },
  yolov8_face: yolo,
  yolov8_decoded: yolo,
  blazeface: {
    preprocessing: { channels: 'rgb', mean: 127.5, scale: 1 / 127.5 },
    nms_iou: 0.3,
    min_det_score: 0.7,
    second_look_score: 0.7,
    side: 128,
    source: 'as in the default pack',
  },
};

export const knownFamilies = Object.keys(familyDefaults) as FamilyName[];
