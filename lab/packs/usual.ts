import type { FamilyName, Fed } from 'facematch/for-lab';

/**
 * Facts about detectors that their files do not contain, by the families that `packs add` knows, the most
 * likely first.
 */
interface Usual {
  preprocessing: Fed;
  nms_iou: number;
  min_det_score: number;
  second_look_score: number;
  /** Width and height where the file leaves them open. */
  side: number;
  /** Source of these numbers. */
  source: string;
  /** Members of the manifest for the cells. */
  grids?: Readonly<Record<string, unknown>>;
}

const strides = [8, 16, 32];

/** Input and outputs like Pytorch_Retinaface's models, whatever their outputs. */
const retinaface: Usual = {
  preprocessing: { channels: 'bgr', mean: [104, 117, 123], scale: 1 },
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

/** Input like Ultra-Light's models, whether they decode their own boxes or not. */
const ultraLight: Usual = {
  preprocessing: { channels: 'rgb', mean: 127, scale: 1 / 128 },
  nms_iou: 0.4,
  min_det_score: 0.7,
  second_look_score: 0.9,
  side: 320,
  source: 'as in the default pack',
};

const yolo: Usual = {
  preprocessing: { channels: 'rgb', mean: 0, scale: 1 / 255 },
  nms_iou: 0.5,
  min_det_score: 0.5,
  second_look_score: 0.6,
  side: 640,
  source: 'as YOLOv5-face and YOLOv8-face feed theirs',
};

/** Feeds SCRFD as InsightFace does; the layout of its output rows makes no difference. */
const scrfd: Usual = {
  preprocessing: { channels: 'rgb', mean: 127.5, scale: 1 / 128 },
  nms_iou: 0.4,
  min_det_score: 0.5,
  second_look_score: 0.6,
  side: 640,
  source: "as InsightFace's scrfd.py feeds it",
  grids: { strides, anchors: 2 },
};

export const usual: Readonly<Partial<Record<FamilyName, Usual>>> = {
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

export const usualFamilies = Object.keys(usual) as FamilyName[];
