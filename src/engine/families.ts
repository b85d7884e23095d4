/** Descriptions of the outputs of each detector family in a manifest. native/core/find/families has a file for each. */

interface Family {
  /** Manifest members with names of outputs: one name, or one for each stride. */
  outputs: Readonly<Record<string, 'one' | 'each'>>;
  /** Distance in pixels between the cells of each grid; absent if the manifest defines it or the family needs none. */
  strides?: readonly number[];
  /** Kind of anchors, if the manifest defines them and the strides. */
  cells?: 'anchors' | 'priors';
  /** True if width and height must be multiples of the maximum stride. */
  wholeCells?: true;
}

const strides = [8, 16, 32];

const table = {
  scrfd: { outputs: { scores: 'each', boxes: 'each' }, cells: 'anchors', wholeCells: true },
  scrfd_maps: { outputs: { scores: 'each', boxes: 'each' }, cells: 'anchors', wholeCells: true },
  yunet: { outputs: { cls: 'each', obj: 'each', bbox: 'each' }, strides, wholeCells: true },
  retinaface: { outputs: { scores: 'one', boxes: 'one' }, cells: 'priors' },
  retinaface_joined: { outputs: { joined: 'one' }, cells: 'priors' },
  rfb: { outputs: { scores: 'one', offsets: 'one' } },
  ssd_decoded: { outputs: { scores: 'one', boxes: 'one' } },
  yolov5_face: { outputs: { grids: 'each' }, strides, wholeCells: true },
  yolov5_decoded: { outputs: { boxes: 'one' }, cells: 'anchors', wholeCells: true },
  yolov8_face: { outputs: { grids: 'each' }, strides, wholeCells: true },
  yolov8_decoded: { outputs: { boxes: 'one' }, strides, wholeCells: true },
  blazeface: { outputs: { boxes: 'one', scores: 'one' }, strides: [8, 16], wholeCells: true },
} as const satisfies Record<string, Family>;

export type FamilyName = keyof typeof table;
export const families: Readonly<Record<FamilyName, Family>> = table;
export const familyNames = Object.keys(table) as FamilyName[];

/** Families of liveness models. native/core/embed/liveness.cpp has a line for each. */
export const livenessFamilies = {
  minifasnet: { classes: [3], side: 80, input: 'BGR, unscaled bytes', live: 'second' },
  celeba_spoof: { classes: [2, 3], side: 128, input: 'RGB, bytes / 255', live: 'first' },
} as const satisfies Record<
  string,
  { classes: readonly number[]; side: number; input: string; live: string }
>;

export type LivenessFamily = keyof typeof livenessFamilies;
