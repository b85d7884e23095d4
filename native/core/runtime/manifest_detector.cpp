#include <algorithm>

#include "../error.h"
#include "../find/detect_family.h"
#include "manifest_values.h"

namespace facematch {
namespace {

// Pixels. An input of that many takes 50 MB, in each worker.
constexpr int kMaxFrame = 2048;
constexpr int kMaxStride = 128;
constexpr size_t kMaxStrides = 8;
constexpr int kMaxAnchors = 16;  // of a cell

std::vector<int> read_strides(const Json& json) {
  std::vector<int> strides;
  for (const Json& value : read_list(json, "strides", 1, kMaxStrides)) {
    const int stride = whole_of(value, "strides", kMaxStride);
    if (!strides.empty() && (stride == strides.back() || stride % strides.back() != 0)) {
      refuse("strides", "must rise, each a multiple of the one before");
    }
    strides.push_back(stride);
  }
  return strides;
}

std::vector<std::vector<float>> read_priors(const Json& json, size_t strides) {
  std::vector<std::vector<float>> priors;
  for (const Json& sides : read_list(json, "priors", strides, strides)) {
    if (!sides.is_array() || sides.empty() || sides.size() > kMaxAnchors) {
      refuse("priors", "must have a list of sides for each stride");
    }
    auto& of_stride = priors.emplace_back();
    for (const Json& side : sides) of_stride.push_back(number_of(side, "priors", 1, kMaxFrame));
  }
  return priors;
}

std::array<float, 2> read_variances(const Json& json) {
  const Json& list = read_list(json, "variances", 2, 2);
  return {number_of(list[0], "variances", kMinScale, kMaxNumber),
          number_of(list[1], "variances", kMinScale, kMaxNumber)};
}

std::vector<std::string> names_of(const Json& value, bool listed) {
  if (listed) return value.get<std::vector<std::string>>();
  return {value.get<std::string>()};
}

// The names of a detector's outputs, in the order of its family's members. None where they are to
// be found by their shapes.
std::vector<std::string> read_outputs(const Json& json, const DetectorFamily& family,
                                      size_t strides) {
  const auto is_absent = [&](const OutputMember& member) { return !json.contains(member.name); };
  const auto& members = family.outputs;
  if (family.cells != Cells::kOwn && std::all_of(members.begin(), members.end(), is_absent)) {
    return {};
  }
  std::vector<std::string> names;
  for (const OutputMember& member : members) {
    const size_t count = member.count == kOneForEachStride ? strides : member.count;
    const auto listed = names_of(json.at(member.name), member.count != 1);
    if (listed.size() != count) {
      throw Error(ErrorCode::kInternalError, std::string("\"") + member.name + "\" must name " +
                                                 std::to_string(count) + " outputs");
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

}  // namespace

DetectorSpec read_detector(const Json& json) {
  const DetectorFamily& family = detector_family(json.at("family"));
  const bool priors = family.cells == Cells::kPriors;
  std::vector<int> strides;
  if (family.cells != Cells::kOwn) strides = read_strides(json);
  return {.file = read_file_name(json, ".onnx"),
          .family = family.name,
          .input = read_name(json, "input"),
          .outputs = read_outputs(json, family, strides.size()),
          .width = read_whole(json, "width", kMaxFrame),
          .height = read_whole(json, "height", kMaxFrame),
          .normalisation = read_normalisation(json, kColours),
          .nms_iou = read_number(json, "nms_iou", 0, 1),
          .second_look_score = read_number(json, "second_look_score", 0, 1),
          .strides = strides,
          .anchors = family.cells == Cells::kAnchors ? read_whole(json, "anchors", kMaxAnchors) : 0,
          .priors = priors ? read_priors(json, strides.size()) : std::vector<std::vector<float>>(),
          .variances = priors ? read_variances(json) : std::array<float, 2>()};
}

}  // namespace facematch
