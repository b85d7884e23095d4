import type { Download } from '../download.ts';
import type { AddOptions } from './own-nets.ts';

/** Published models that `facematch packs pull` knows by name. */

/** An ONNX file, or one inside a ZIP archive. */
export type PublishedNet = Download | { archive: Download; member: string; sha256: string };

export interface PublishedPack {
  description: string;
  licence: string;
  /** Required value of --accept-licence, if the licence restricts use. */
  accept?: string;
  project: string;
  nets: { detector?: PublishedNet; embedder: PublishedNet };
  how: Pick<AddOptions, 'detectorFamily' | 'preprocessing'>;
}

const zoo = 'https://github.com/opencv/opencv_zoo/raw/47534e27c9851bb1128ccc0102f1145e27f23f98/models';
const insightface = 'https://github.com/deepinsight/insightface/releases/download/v0.7';

const sface: Download = {
  url: `${zoo}/face_recognition_sface/face_recognition_sface_2021dec.onnx`,
  bytes: 38_696_353,
  sha256: '0ba9fbfa01b5270c96627c4ef784da859931e02f04419c829e83484087c34e79',
};

/** The 2023 model with a dynamic input size (pull request 310 of opencv_zoo). */
const yunet: Download = {
  url: `${zoo}/face_detection_yunet/face_detection_yunet_2026may.onnx`,
  bytes: 229_738,
  sha256: 'ebafce4e3c118d6554634be5c27ab333b4c047a9a8c3faf1d7cf93101c22f0f0',
};

const auraface: Download = {
  url: 'https://huggingface.co/fal/AuraFace-v1/resolve/af6d057c9b0ec4071d4c49c80e3539258798b609/glintr100.onnx',
  bytes: 260_694_151,
  sha256: 'a7933ea5330113b01c9b60351d8f4c33003f145d8470ac5f0e52ee2effe25c60',
};

/** Two models of an InsightFace archive, each with its SHA-256. */
function insightfacePack(
  description: string,
  archive: Download,
  [detector, detectorHash]: [string, string],
  [embedder, embedderHash]: [string, string],
): PublishedPack {
  return {
    description,
    licence: 'non-commercial research only (InsightFace)',
    accept: 'non-commercial',
    project: 'InsightFace, release v0.7',
    nets: {
      detector: { archive, member: detector, sha256: detectorHash },
      embedder: { archive, member: embedder, sha256: embedderHash },
    },
    how: { detectorFamily: 'scrfd', preprocessing: 'insightface' },
  };
}

/** The hashes are those of the publishers' files, and were confirmed by several public sources. */
export const catalogue: Readonly<Record<string, PublishedPack>> = {
  sface: {
    description: "SFace of OpenCV Zoo, 128 dimensions, with the default pack's detector",
    licence: 'Apache-2.0',
    project: 'OpenCV Zoo',
    nets: { embedder: sface },
    how: { preprocessing: 'sface' },
  },
  'yunet-sface': {
    description: 'YuNet and SFace of OpenCV Zoo',
    licence: 'MIT (YuNet), Apache-2.0 (SFace)',
    project: 'OpenCV Zoo',
    nets: { detector: yunet, embedder: sface },
    how: { detectorFamily: 'yunet', preprocessing: 'sface' },
  },
  auraface: {
    description: "AuraFace v1 of fal, a ResNet-100, with the default pack's detector",
    licence: 'Apache-2.0, according to its publisher',
    project: 'AuraFace v1',
    nets: { embedder: auraface },
    how: { preprocessing: 'insightface' },
  },
  buffalo_sc: insightfacePack(
    'SCRFD-500M and a MobileFaceNet of InsightFace',
    {
      url: `${insightface}/buffalo_sc.zip`,
      bytes: 14_969_382,
      sha256: '57d31b56b6ffa911c8a73cfc1707c73cab76efe7f13b675a05223bf42de47c72',
    },
    ['det_500m.onnx', '5e4447f50245bbd7966bd6c0fa52938c61474a04ec7def48753668a9d8b4ea3a'],
    ['w600k_mbf.onnx', '9cc6e4a75f0e2bf0b1aed94578f144d15175f357bdc05e815e5c4a02b319eb4f'],
  ),
  buffalo_l: insightfacePack(
    'SCRFD-10G and a ResNet-50 of InsightFace',
    {
      url: `${insightface}/buffalo_l.zip`,
      bytes: 288_621_354,
      sha256: '80ffe37d8a5940d59a7384c201a2a38d4741f2f3c51eef46ebb28218a7b0ca2f',
    },
    ['det_10g.onnx', '5838f7fe053675b1c7a08b633df49e7af5495cee0493c7dcf6697200b85b5b91'],
    ['w600k_r50.onnx', '4c06341c33c2ca1f86781dab0e829f88ad5b64be9fba56e56bc9ebdefc619e43'],
  ),
};

/** Returns the files to download for a pack, without duplicates. */
export function downloadsOf({ nets }: PublishedPack): Download[] {
  const all = Object.values(nets).map((net) => ('archive' in net ? net.archive : net));
  return [...new Set(all)];
}
