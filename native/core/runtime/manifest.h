// A manifest that src/engine/manifest.ts has read and judged -> Pack.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../find/families/family.h"
#include "pack.h"

namespace facematch {

// `Node` is a value of the manifest, by whatever holds it, and has
//   Node operator[](const char* member) const;  absent or not
//   bool present() const;
//   bool is_list() const;
//   std::vector<Node> items() const;            of a list
//   float number() const; int whole() const; std::string text() const;
// A node may throw where it is of another type. Throws Error kInternalError for an unknown family.
template <typename Node>
class ManifestReader {
 public:
  static Pack pack(const std::string& directory, const Node& manifest) {
    Pack pack{.directory = directory,
              .detector = detector(manifest["detector"]),
              .close_detector = {},
              .landmarks = landmarks(manifest["landmarks"]),
              .embedder = embedder(manifest["embedder"]),
              .cohort = {},
              .human = {},
              .occlusion = {},
              .liveness = {}};
    if (const Node node = manifest["close_detector"]; node.present())
      pack.close_detector = detector(node);
    if (const Node node = manifest["cohort"]; node.present()) pack.cohort = cohort(node);
    if (const Node node = manifest["human"]; node.present())
      pack.human = HumanSpec{.score = linear(node), .bar = node["bar"].number()};
    if (const Node node = manifest["occlusion"]; node.present()) pack.occlusion = linear(node);
    if (const Node node = manifest["liveness"]; node.present())
      for (const Node& net : node["nets"].items()) pack.liveness.push_back(liveness(net));
    return pack;
  }

  static DetectorSpec detector(const Node& node) {
    DetectorSpec spec = grids(node);
    spec.file = node["file"].text();
    spec.input = node["input"].text();
    spec.normalisation = normalisation(node);
    spec.nms_iou = node["nms_iou"].number();
    spec.second_look_score = node["second_look_score"].number();
    const char* before = nullptr;
    for (const OutputShape& output :
         detector_family(spec.family).outputs(spec, {spec.width, spec.height})) {
      if (output.member != before) add_names(node[output.member], spec.outputs);
      before = output.member;
    }
    return spec;
  }

  // The part of a detector that says which outputs its family has.
  static DetectorSpec grids(const Node& node) {
    DetectorSpec spec;
    spec.family = node["family"].text();
    spec.width = node["width"].whole();
    spec.height = node["height"].whole();
    if (const Node list = node["strides"]; list.present())
      for (const Node& stride : list.items()) spec.strides.push_back(stride.whole());
    if (const Node anchors = node["anchors"]; anchors.present()) spec.anchors = anchors.whole();
    if (const Node list = node["priors"]; list.present())
      for (const Node& sides : list.items()) spec.priors.push_back(numbers(sides));
    if (const Node list = node["variances"]; list.present())
      spec.variances = {numbers(list).at(0), numbers(list).at(1)};
    return spec;
  }

 private:
  static std::vector<float> numbers(const Node& list) {
    std::vector<float> all;
    for (const Node& item : list.items()) all.push_back(item.number());
    return all;
  }

  static void add_names(const Node& node, std::vector<std::string>& names) {
    if (!node.is_list()) return names.push_back(node.text());
    for (const Node& item : node.items()) names.push_back(item.text());
  }

  static Normalisation normalisation(const Node& node) {
    const std::string word = node["channels"].text();
    Normalisation how{.channels = word == "rgb"   ? Channels::kRgb
                                  : word == "bgr" ? Channels::kBgr
                                                  : Channels::kGrey,
                      .mean = {},
                      .scale = node["scale"].number()};
    const Node mean = node["mean"];
    for (size_t plane = 0; plane < how.mean.size(); ++plane)
      how.mean[plane] = mean.is_list() ? numbers(mean).at(plane) : mean.number();
    return how;
  }

  static LandmarksSpec landmarks(const Node& node) {
    return {.file = node["file"].text(),
            .input = node["input"].text(),
            .output = node["output"].text(),
            .size = node["size"].whole(),
            .normalisation = normalisation(node),
            .crop = node["crop"].number(),
            .upright_degrees = node["upright_degrees"].number()};
  }

  static EmbedderSpec embedder(const Node& node) {
    EmbedderSpec spec{.file = node["file"].text(),
                      .input = node["input"].text(),
                      .output = node["output"].text(),
                      .size = node["size"].whole(),
                      .dimensions = node["dimensions"].whole(),
                      .normalisation = normalisation(node),
                      .template_points = {}};
    const std::vector<Node> points = node["template"].items();
    for (size_t i = 0; i < spec.template_points.size(); ++i) {
      const std::vector<float> point = numbers(points.at(i));
      spec.template_points[i] = {point.at(0), point.at(1)};
    }
    return spec;
  }

  static CohortSpec cohort(const Node& node) {
    return {.file = node["file"].text(),
            .centres = node["centres"].whole(),
            .highest = node["highest"].whole(),
            .weight = node["weight"].number()};
  }

  static LinearSpec linear(const Node& node) {
    return {.file = node["file"].text(),
            .scale = node["scale"].number(),
            .bias = node["bias"].number()};
  }

  static LivenessSpec liveness(const Node& node) {
    return {.file = node["file"].text(),
            .input = node["input"].text(),
            .output = node["output"].text(),
            .size = node["size"].whole(),
            .scale = node["scale"].number()};
  }
};

}  // namespace facematch
