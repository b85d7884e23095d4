import type { NetFacts, TensorFacts } from '../../engine/addon.ts';

/** What is known of each family of detectors that a file cannot say of itself: how it is fed, and what its outputs look like. */

type Members = Record<string, unknown>;

export interface Family {
  /** How the pictures are fed; `mean` may be one for each channel. */
  feeding: { channels: 'rgb' | 'bgr'; mean: number | number[]; scale: number };
  nms_iou: number;
  min_det_score: number;
  second_look_score: number;
  /** Width and height where the file leaves them open. */
  side: number;
  /** Who says so. */
  source: string;
  /** The members that name the outputs, for a net whose outputs were measured; undefined when it is of another family. */
  members(net: NetFacts, width: number, height: number): Members | undefined;
}

const strides = [8, 16, 32];

const cells = (side: number, stride: number) => Math.ceil(side / stride);

/** An output of `rows` × `columns`, with or without a batch of 1 before. */
function shaped(net: NetFacts, rows: number, columns: number): TensorFacts[] {
  return net.outputs.filter(({ shape }) => {
    const [last, before, ...batch] = shape.toReversed();
    return last === columns && before === rows && batch.every((side) => side === 1);
  });
}

/** The names of one output for each of some shapes; undefined when one has none or several. */
function named(net: NetFacts, shapes: readonly (readonly [rows: number, columns: number])[]) {
  const found = shapes.map(([rows, columns]) => shaped(net, rows, columns));
  return found.every(({ length }) => length === 1) ? found.map(([one]) => one!.name) : undefined;
}

const priors = [
  [16, 32],
  [64, 128],
  [256, 512],
];

export const families: Readonly<Record<string, Family>> = {
  scrfd: {
    feeding: { channels: 'rgb', mean: 127.5, scale: 1 / 128 },
    nms_iou: 0.4,
    min_det_score: 0.5,
    second_look_score: 0.6,
    side: 640,
    source: "as InsightFace's scrfd.py feeds it",
    members(net, width, height) {
      const anchors = 2;
      const rows = strides.map((stride) => anchors * cells(width, stride) * cells(height, stride));
      const scores = named(
        net,
        rows.map((n) => [n, 1]),
      );
      const boxes = named(
        net,
        rows.map((n) => [n, 4]),
      );
      return scores && boxes && { strides, anchors, scores, boxes };
    },
  },
  yunet: {
    feeding: { channels: 'bgr', mean: 0, scale: 1 },
    nms_iou: 0.3,
    min_det_score: 0.7,
    second_look_score: 0.75,
    side: 320,
    source: 'as in the pack yunet',
    members(net) {
      // Shapes do not tell cls from obj.
      const names = new Set(net.outputs.map(({ name }) => name));
      const listed = ['cls', 'obj', 'bbox'].map((member): [string, string[]] => [
        member,
        strides.map((stride) => `${member}_${stride}`),
      ]);
      const whole = listed.every(([, outputs]) => outputs.every((name) => names.has(name)));
      return whole ? Object.fromEntries(listed) : undefined;
    },
  },
  retinaface: {
    feeding: { channels: 'bgr', mean: [104, 117, 123], scale: 1 },
    nms_iou: 0.4,
    min_det_score: 0.7,
    second_look_score: 0.75,
    side: 640,
    source: "as Pytorch_Retinaface's config.py and detect.py have it",
    members(net, width, height) {
      const each = strides.map(
        (stride, i) => priors[i]!.length * cells(width, stride) * cells(height, stride),
      );
      const rows = each.reduce((sum, n) => sum + n);
      const found = named(net, [
        [rows, 2],
        [rows, 4],
      ]);
      return found && { strides, priors, variances: [0.1, 0.2], scores: found[0], boxes: found[1] };
    },
  },
  rfb: {
    feeding: { channels: 'rgb', mean: 127, scale: 1 / 128 },
    nms_iou: 0.4,
    min_det_score: 0.7,
    second_look_score: 0.9,
    side: 320,
    source: 'as in the default pack',
    members(net, width, height) {
      const each = [3, 2, 2, 3].map((n, i) => n * cells(width, 8 << i) * cells(height, 8 << i));
      const rows = each.reduce((sum, n) => sum + n);
      const found = named(net, [
        [rows, 2],
        [rows, 4],
      ]);
      if (found?.[1] === 'boxes') {
        throw new Error(
          'This net of the family rfb decodes its own boxes. Preparing cuts that off, in a checkout of the repository: ' +
            'see models/README.md, "A pack of your own"',
        );
      }
      return found && { scores: found[0], offsets: found[1] };
    },
  },
};

/** How embedders of the family arcface are fed, by who publishes such nets. */
export const feedings = {
  insightface: { channels: 'rgb', mean: 127.5, scale: 1 / 127.5 },
  sface: { channels: 'rgb', mean: 0, scale: 1 },
  adaface: { channels: 'bgr', mean: 127.5, scale: 1 / 127.5 },
} as const satisfies Record<string, Family['feeding']>;

export type Feeding = keyof typeof feedings;
