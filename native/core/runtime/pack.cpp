#include "pack.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "../error.h"
#include "../find/detect_family.h"

namespace facematch {
namespace {

using Json = nlohmann::json;

// A manifest may come from anybody: each number has a range in which all arithmetic of the core
// stays finite and no buffer is huge. src/engine/manifest-parts.ts has the same ranges.
constexpr double kMinScale = 1e-9;
constexpr double kMaxNumber = 1000;
constexpr double kMinCrop = 0.1, kMaxCrop = 10;
// Pixels. An input of that many takes 50 MB for a detector and 3 MB for a crop, in each worker.
constexpr int kMaxFrame = 2048;
constexpr int kMaxCropSize = 512;
constexpr int kMaxDimensions = 4096;
constexpr int kMaxCentres = 16'384;
// Pixels of the chip, from the eyes down to the mouth.
constexpr float kMinEyesToMouth = 1;

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw Error(ErrorCode::kInternalError, "\"" + name + "\" " + why);
}

float number_of(const Json& value, const std::string& name, double least, double most) {
  // nlohmann::json would convert true to 1.
  if (!value.is_number()) refuse(name, "is no number");
  const double number = value;
  if (number >= least && number <= most) return static_cast<float>(number);
  refuse(name, "is out of range");
}

float read_number(const Json& json, const char* name, double least, double most) {
  return number_of(json.at(name), name, least, most);
}

// Also of a number such as 320.0, which JavaScript does not tell from 320.
int read_whole(const Json& json, const char* name, int most) {
  const Json& value = json.at(name);
  if (!value.is_number()) refuse(name, "is no number");
  // Compared before it is converted: beyond an int that is undefined or silently another number.
  const double number = value;
  if (!(number >= 1 && number <= most)) refuse(name, "is out of range");
  if (number != std::floor(number)) refuse(name, "is no whole number");
  return static_cast<int>(number);
}

std::string read_name(const Json& json, const char* name) {
  const std::string text = json.at(name);
  if (text.empty()) refuse(name, "is empty");
  return text;
}

// A plain name: a manifest must not point outside its directory.
std::string read_file_name(const Json& json, const std::string& ending) {
  const std::string text = json.at("file");
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  if (text.size() > ending.size() && text.ends_with(ending) && text.front() != '.' &&
      std::all_of(text.begin(), text.end(), plain)) {
    return text;
  }
  refuse("file", "is no plain file name ending in " + ending);
}

Channels read_channels(const Json& json, std::initializer_list<const char*> allowed) {
  const std::string word = json.at("channels");
  if (std::find(allowed.begin(), allowed.end(), word) == allowed.end()) {
    std::string list;
    for (const std::string one : allowed) list += (list.empty() ? "" : ", ") + one;
    refuse("channels", "is \"" + word + "\" and must be one of " + list);
  }
  return word == "rgb" ? Channels::kRgb : word == "bgr" ? Channels::kBgr : Channels::kGrey;
}

// How many planes an input has is fixed by what the net is for.
constexpr std::initializer_list<const char*> kColours = {"rgb", "bgr"};

Normalisation read_normalisation(const Json& json, std::initializer_list<const char*> channels) {
  return {.channels = read_channels(json, channels),
          .mean = read_number(json, "mean", -kMaxNumber, kMaxNumber),
          .scale = read_number(json, "scale", kMinScale, kMaxNumber)};
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
    for (const std::string& name : listed) {
      if (name.empty()) refuse(member.name, "is empty");
      if (std::find(names.begin(), names.end(), name) != names.end()) {
        refuse(member.name, "names the output \"" + name + "\" a second time");
      }
      names.push_back(name);
    }
  }
  return names;
}

DetectorSpec read_detector(const Json& json) {
  const std::string family = json.at("family");
  return {.file = read_file_name(json, ".onnx"),
          .family = family,
          .input = read_name(json, "input"),
          .outputs = read_outputs(json, detector_family(family)),
          .width = read_whole(json, "width", kMaxFrame),
          .height = read_whole(json, "height", kMaxFrame),
          .normalisation = read_normalisation(json, kColours),
          .nms_iou = read_number(json, "nms_iou", 0, 1),
          .second_look_score = read_number(json, "second_look_score", 0, 1)};
}

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
            .occlusion = read_occlusion(json)};
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kInternalError, path + ": " + error.what());
  }
}

}  // namespace facematch
