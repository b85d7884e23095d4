#include "pack.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "../error.h"
#include "../find/detect_family.h"

namespace facematch {
namespace {

using Json = nlohmann::json;

Channels read_channels(const std::string& word) {
  if (word == "rgb") return Channels::kRgb;
  if (word == "bgr") return Channels::kBgr;
  if (word == "grey") return Channels::kGrey;
  throw Error(ErrorCode::kInternalError, "unknown channel order \"" + word + "\"");
}

Normalisation read_normalisation(const Json& json) {
  return {.channels = read_channels(json.at("channels")),
          .mean = json.at("mean"),
          .scale = json.at("scale")};
}

// Sizes decide how much memory is allocated, so they are limited here.
int read_size(const Json& json, const char* name) {
  constexpr int kMost = 4096;
  const int size = json.at(name);
  if (size >= 1 && size <= kMost) return size;
  throw Error(ErrorCode::kInternalError, std::string("\"") + name + "\" is out of range");
}

// The names of a detector's outputs, in the order of its family's members.
std::vector<std::string> read_outputs(const Json& json, const DetectorFamily& family) {
  std::vector<std::string> names;
  for (const OutputMember& member : family.outputs) {
    const Json& value = json.at(member.name);
    const auto listed = member.count == 1 ? std::vector<std::string>{value.get<std::string>()}
                                          : value.get<std::vector<std::string>>();
    if (listed.size() != member.count) {
      throw Error(ErrorCode::kInternalError, std::string("\"") + member.name + "\" must name " +
                                                 std::to_string(member.count) + " outputs");
    }
    names.insert(names.end(), listed.begin(), listed.end());
  }
  return names;
}

DetectorSpec read_detector(const Json& json) {
  const std::string family = json.at("family");
  return {.file = json.at("file"),
          .family = family,
          .input = json.at("input"),
          .outputs = read_outputs(json, detector_family(family)),
          .width = read_size(json, "width"),
          .height = read_size(json, "height"),
          .normalisation = read_normalisation(json),
          .nms_iou = json.at("nms_iou"),
          .second_look_score = json.at("second_look_score")};
}

LandmarksSpec read_landmarks(const Json& json) {
  return {.file = json.at("file"),
          .family = json.at("family"),
          .input = json.at("input"),
          .output = json.at("output"),
          .size = read_size(json, "size"),
          .normalisation = read_normalisation(json),
          .crop = json.at("crop"),
          .upright_degrees = json.at("upright_degrees")};
}

EmbedderSpec read_embedder(const Json& json) {
  EmbedderSpec spec = {.file = json.at("file"),
                       .family = json.at("family"),
                       .input = json.at("input"),
                       .output = json.at("output"),
                       .size = read_size(json, "size"),
                       .dimensions = read_size(json, "dimensions"),
                       .normalisation = read_normalisation(json),
                       .template_points = {}};
  const Json& points = json.at("template");
  for (size_t i = 0; i < spec.template_points.size(); ++i) {
    spec.template_points[i] = {points.at(i).at(0), points.at(i).at(1)};
  }
  return spec;
}

std::optional<CohortSpec> read_cohort(const Json& json) {
  const auto found = json.find("cohort");
  if (found == json.end()) return std::nullopt;
  const Json& weights = found->at("weights");
  return CohortSpec{.file = found->at("file"),
                    .centres = read_size(*found, "centres"),
                    .highest = read_size(*found, "highest"),
                    .highest_weight = weights.at("highest"),
                    .stddev_weight = weights.at("spread")};
}

std::optional<HumanSpec> read_human(const Json& json) {
  const auto found = json.find("human");
  if (found == json.end()) return std::nullopt;
  return HumanSpec{.file = found->at("file"),
                   .scale = found->at("scale"),
                   .bias = found->at("bias"),
                   .bar = found->at("bar")};
}

}  // namespace

Pack read_pack(const std::string& directory) {
  const std::string path = directory + "/manifest.json";
  std::ifstream file(path);
  if (!file) throw Error(ErrorCode::kInternalError, "the pack has no readable " + path);
  try {
    const Json json = Json::parse(file);
    return {.directory = directory,
            .detector = read_detector(json.at("detector")),
            .landmarks = read_landmarks(json.at("landmarks")),
            .embedder = read_embedder(json.at("embedder")),
            .cohort = read_cohort(json),
            .human = read_human(json)};
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kInternalError, path + ": " + error.what());
  }
}

}  // namespace facematch
