#include "pack.h"

#include <fstream>

#include "../error.h"
#include "manifest_values.h"

namespace facematch {
namespace {

constexpr double kMinCrop = 0.1, kMaxCrop = 10;
// Pixels. An input of that many takes 3 MB, in each worker.
constexpr int kMaxCropSize = 512;
constexpr int kMaxDimensions = 4096;
constexpr int kMaxCentres = 16'384;
constexpr size_t kMaxLivenessNets = 8;
// Pixels of the chip, from the eyes down to the mouth.
constexpr float kMinEyesToMouth = 1;

LandmarksSpec read_landmarks(const Json& json) {
  return {.file = read_file_name(json, ".onnx"),
          .family = json.at("family"),
          .input = read_name(json, "input"),
          .output = read_name(json, "output"),
          .size = read_whole(json, "size", kMaxCropSize),
          .normalisation = read_normalisation(json, {"grey"}),
          .crop = read_number(json, "crop", kMinCrop, kMaxCrop),
          .upright_degrees = read_number(json, "upright_degrees", 0, 180)};
}

// Five points inside the chip, of an upright face.
std::array<Point, 5> read_template(const Json& json, int size) {
  const Json& listed = json.at("template");
  std::array<Point, 5> points;
  const auto refuse_count = [] { refuse("template", "must have five points of two numbers"); };
  if (!listed.is_array() || listed.size() != points.size()) refuse_count();
  for (size_t i = 0; i < points.size(); ++i) {
    if (!listed[i].is_array() || listed[i].size() != 2) refuse_count();
    points[i] = {number_of(listed[i][0], "template", 0, size),
                 number_of(listed[i][1], "template", 0, size)};
  }
  const float eyes = (points[0].y + points[1].y) / 2;
  const float mouth = (points[3].y + points[4].y) / 2;
  if (!(mouth - eyes >= kMinEyesToMouth)) refuse("template", "has no mouth below the eyes");
  if (!(points[0].x < points[1].x)) refuse("template", "has its eyes exchanged");
  return points;
}

EmbedderSpec read_embedder(const Json& json) {
  const int size = read_whole(json, "size", kMaxCropSize);
  return {.file = read_file_name(json, ".onnx"),
          .family = json.at("family"),
          .input = read_name(json, "input"),
          .output = read_name(json, "output"),
          .size = size,
          .dimensions = read_whole(json, "dimensions", kMaxDimensions),
          .normalisation = read_normalisation(json, kColours),
          .template_points = read_template(json, size)};
}

std::optional<DetectorSpec> read_close_detector(const Json& json) {
  const auto found = json.find("close_detector");
  if (found == json.end()) return std::nullopt;
  return read_detector(*found);
}

std::optional<CohortSpec> read_cohort(const Json& json) {
  const auto found = json.find("cohort");
  if (found == json.end()) return std::nullopt;
  return CohortSpec{.file = read_file_name(*found, ".i8"),
                    .centres = read_whole(*found, "centres", kMaxCentres),
                    .highest = read_whole(*found, "highest", kMaxCentres),
                    .weight = read_number(*found, "weight", 0, kMaxNumber)};
}

LinearSpec read_linear(const Json& json) {
  return {.file = read_file_name(json, ".i8"),
          .scale = read_number(json, "scale", kMinScale, kMaxNumber),
          .bias = read_number(json, "bias", -kMaxNumber, kMaxNumber)};
}

std::optional<HumanSpec> read_human(const Json& json) {
  const auto found = json.find("human");
  if (found == json.end()) return std::nullopt;
  return HumanSpec{.score = read_linear(*found),
                   .bar = read_number(*found, "bar", -kMaxNumber, kMaxNumber)};
}

std::optional<LinearSpec> read_occlusion(const Json& json) {
  const auto found = json.find("occlusion");
  if (found == json.end()) return std::nullopt;
  return read_linear(*found);
}

LivenessSpec read_liveness_net(const Json& json) {
  const float scale = read_number(json, "scale", 1, kMaxNumber);
  if (!(json.at("scale").get<double>() > 1)) refuse("scale", "is out of range");
  return {.file = read_file_name(json, ".onnx"),
          .input = read_name(json, "input"),
          .output = read_name(json, "output"),
          .size = read_whole(json, "size", kMaxCropSize),
          .scale = scale};
}

std::vector<LivenessSpec> read_liveness(const Json& json) {
  const auto found = json.find("liveness");
  if (found == json.end()) return {};
  const std::string family = found->at("family");
  if (family != "minifasnet") {
    throw Error(ErrorCode::kInternalError, "unknown liveness family \"" + family + "\"");
  }
  std::vector<LivenessSpec> nets;
  for (const Json& net : read_list(*found, "nets", 1, kMaxLivenessNets)) {
    nets.push_back(read_liveness_net(net));
  }
  return nets;
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
            .close_detector = read_close_detector(json),
            .landmarks = read_landmarks(json.at("landmarks")),
            .embedder = read_embedder(json.at("embedder")),
            .cohort = read_cohort(json),
            .human = read_human(json),
            .occlusion = read_occlusion(json),
            .liveness = read_liveness(json)};
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kInternalError, path + ": " + error.what());
  }
}

}  // namespace facematch
