// Converts a manifest that src/engine/manifest.ts has validated to a Pack.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../find/families/family.h"
#include "pack.h"

namespace facematch {

// A value of the manifest, which converts to the type it is assigned to. `Node` holds the value and
// must have these functions:
//   Node at(const char* member) const;
//   bool present() const;
//   bool is_list() const;
//   std::vector<Node> items() const;
//   float number() const;
//   int whole() const;
//   std::string text() const;
// They may throw if the value has another type.
template <typename Node>
struct ManifestValue {
  Node node;

  ManifestValue operator[](const char* member) const { return {node.at(member)}; }
  operator float() const { return node.number(); }
  operator int() const { return node.whole(); }
  operator std::string() const { return node.text(); }
  operator Point() const {
    const std::vector<float> numbers = *this;
    return {numbers.at(0), numbers.at(1)};
  }
  // A missing value becomes an empty list; any other value that is not a list becomes its only
  // item.
  template <typename T>
  operator std::vector<T>() const {
    std::vector<T> all;
    if (!node.present()) return all;
    if (!node.is_list()) return {static_cast<T>(*this)};
    for (const Node& item : node.items()) all.push_back(ManifestValue{item});
    return all;
  }
  template <typename T, size_t count>
  operator std::array<T, count>() const {
    const std::vector<T> all = *this;
    std::array<T, count> some{};
    for (size_t i = 0; i < count; ++i) some[i] = all.at(i);
    return some;
  }
};

// Reads the members of a detector that define the outputs of its family.
template <typename Node>
DetectorSpec grids_of(const ManifestValue<Node>& value) {
  DetectorSpec spec;
  spec.family = std::string(value["family"]);
  spec.width = value["width"];
  spec.height = value["height"];
  spec.strides = value["strides"];
  if (value["anchors"].node.present()) spec.anchors = value["anchors"];
  spec.priors = value["priors"];
  if (value["variances"].node.present()) spec.variances = value["variances"];
  return spec;
}

template <typename Node>
Normalisation normalisation_of(const ManifestValue<Node>& value) {
  const std::string word = value["channels"];
  std::vector<float> mean = value["mean"];
  mean.resize(3, mean.at(0));  // one number applies to each plane
  return {.channels = word == "rgb"   ? Channels::kRgb
                      : word == "bgr" ? Channels::kBgr
                                      : Channels::kGrey,
          .mean = {mean[0], mean[1], mean[2]},
          .scale = value["scale"]};
}

template <typename Node>
DetectorSpec detector_of(const ManifestValue<Node>& value) {
  DetectorSpec spec = grids_of(value);
  spec.file = std::string(value["file"]);
  spec.input = std::string(value["input"]);
  spec.normalisation = normalisation_of(value);
  spec.nms_iou = value["nms_iou"];
  spec.second_look_score = value["second_look_score"];
  spec.clear_score = value["clear_score"];
  const char* before = nullptr;
  const cv::Size size(spec.width, spec.height);
  for (const OutputShape& output : detector_family(spec.family).outputs(spec, size)) {
    if (output.member == before) continue;
    before = output.member;
    const std::vector<std::string> names = value[before];
    spec.outputs.insert(spec.outputs.end(), names.begin(), names.end());
  }
  return spec;
}

template <typename Node>
LinearSpec linear_of(const ManifestValue<Node>& value) {
  return {.file = value["file"], .scale = value["scale"], .bias = value["bias"]};
}

// Throws Error kInternalError for an unknown detector family, and what Node throws.
template <typename Node>
Pack pack_of(const std::string& directory, const ManifestValue<Node>& manifest) {
  const auto landmarks = manifest["landmarks"], embedder = manifest["embedder"];
  const auto max_instability = landmarks["max_instability"];
  Pack pack;
  pack.directory = directory;
  pack.min_det_score = manifest["min_det_score"];
  pack.detector = detector_of(manifest["detector"]);
  pack.landmarks = {.file = landmarks["file"],
                    .input = landmarks["input"],
                    .output = landmarks["output"],
                    .size = landmarks["size"],
                    .normalisation = normalisation_of(landmarks),
                    .crop = landmarks["crop"],
                    .upright_degrees = landmarks["upright_degrees"],
                    .clear_template_error = landmarks["clear_template_error"],
                    .max_instability = {.quick = max_instability["quick"],
                                        .thorough = max_instability["thorough"],
                                        .closeup = max_instability["closeup"],
                                        .close_detector = max_instability["close_detector"]}};
  pack.embedder = {.file = embedder["file"],
                   .input = embedder["input"],
                   .output = embedder["output"],
                   .size = embedder["size"],
                   .dimensions = embedder["dimensions"],
                   .normalisation = normalisation_of(embedder),
                   .template_points = embedder["template"]};
  if (const auto close = manifest["close_detector"]; close.node.present())
    pack.close_detector = detector_of(close);
  if (const auto cohort = manifest["cohort"]; cohort.node.present())
    pack.cohort = {.file = cohort["file"],
                   .centres = cohort["centres"],
                   .highest = cohort["highest"],
                   .weight = cohort["weight"]};
  if (const auto human = manifest["human"]; human.node.present())
    pack.human = {.score = linear_of(human), .min_score = human["threshold"]};
  if (const auto occlusion = manifest["occlusion"]; occlusion.node.present())
    pack.occlusion = linear_of(occlusion);
  if (const auto liveness = manifest["liveness"]; liveness.node.present())
    for (const Node& item : liveness["nets"].node.items()) {
      const ManifestValue<Node> net{item};
      pack.liveness.push_back({.family = liveness["family"],
                               .file = net["file"],
                               .input = net["input"],
                               .output = net["output"],
                               .size = net["size"],
                               .scale = net["scale"]});
    }
  return pack;
}

}  // namespace facematch
