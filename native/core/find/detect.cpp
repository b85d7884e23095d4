#include "detect.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "../error.h"
#include "../runtime/net_input.h"

namespace facematch {

// CMake generates families.inc with one line for each .cpp file of families/.
#define FACEMATCH_FAMILY(name)        \
  namespace families::name {          \
  extern const DetectorFamily family; \
  }
#include "families.inc"
#undef FACEMATCH_FAMILY

namespace {

// Maximum number of candidates for non-maximum suppression, whose time is quadratic. A hostile or
// very busy image may produce thousands.
constexpr size_t kMaxCandidates = 512;

// Minimum side in pixels; smaller faces cannot be compared.
constexpr float kMinSide = 4;
// Minimum ratio of the image's longer side to a side of a box: the box of a close-up may extend
// beyond the image.
constexpr float kMinVisible = 0.5f;

// Maximum valid score. Quantised nets may return scores slightly above 1.
constexpr float kMaxScore = 1.05f;

// Minimum side of a frame in pixels: the size of a cell of the deepest layers.
constexpr int kMinFrame = 64;

#define FACEMATCH_FAMILY(name) &families::name::family,
constexpr std::array kFamilies = {
#include "families.inc"
};
#undef FACEMATCH_FAMILY

using Shape = std::vector<int64_t>;

// Describes the first difference from the family's outputs; returns an empty string if there is
// none.
std::string mismatch(std::span<const OutputShape> expected, std::span<const Shape> shapes) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto& [member, stride, rows, columns] = expected[i];
    size_t numbers = 1;
    std::string shape;
    for (const int64_t side : shapes[i]) {
      numbers *= static_cast<size_t>(side);
      shape += (shape.empty() ? "" : "×") + std::to_string(side);
    }
    const bool any = rows == kAnyRows;
    const bool fits = !shapes[i].empty() && (any || numbers == rows * columns) &&
                      shapes[i].back() == static_cast<int64_t>(columns);
    if (fits) continue;
    return std::string("\"") + member + "\"" +
           (stride > 0 ? " for stride " + std::to_string(stride) : "") + " has the shape " + shape +
           " instead of " + (any ? "n" : std::to_string(rows)) + "×" + std::to_string(columns);
  }
  return {};
}

}  // namespace

bool is_possible(const Detection& detection, cv::Size image) {
  const auto& [box, score, found_by] = detection;
  const float longer = static_cast<float>(std::max(image.width, image.height));
  const auto side = [&](float s) { return s >= kMinSide && s * kMinVisible <= longer; };
  const auto within = [](float middle, int size) {
    return middle >= 0 && middle < static_cast<float>(size);
  };
  // Each comparison is false for NaN.
  return score >= 0 && score <= 1 && side(box.width) && side(box.height) &&
         within(box.centre().x, image.width) && within(box.centre().y, image.height);
}

float intersection_over_union(const Box& a, const Box& b) {
  const float width = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const float height = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  if (width <= 0 || height <= 0) return 0;
  const float shared = width * height;
  return shared / (a.area() + b.area() - shared);
}

void nms(std::vector<Detection>& detections, float iou) {
  std::stable_sort(detections.begin(), detections.end(),
                   [](const auto& a, const auto& b) { return a.score > b.score; });
  if (detections.size() > kMaxCandidates) detections.resize(kMaxCandidates);
  std::vector<Detection> kept;
  for (const Detection& candidate : detections) {
    const bool hidden = std::any_of(kept.begin(), kept.end(), [&](const Detection& better) {
      return intersection_over_union(better.box, candidate.box) > iou;
    });
    if (!hidden) kept.push_back(candidate);
  }
  detections = std::move(kept);
}

const DetectorFamily& detector_family(const std::string& name) {
  std::string known;
  for (const DetectorFamily* family : kFamilies) {
    if (name == family->name) return *family;
    known += known.empty() ? family->name : std::string(", ") + family->name;
  }
  throw Error(ErrorCode::kInternalError,
              "unknown detector family \"" + name + "\"; known families: " + known);
}

Detector::Detector(const std::string& directory, const DetectorSpec& spec)
    : spec_(spec),
      family_(detector_family(spec_.family)),
      net_(directory + "/" + spec_.file, spec_.input, {1, 3, spec_.height, spec_.width},
           spec_.outputs, Sides::kDynamic) {
  const auto expected = family_.outputs(spec_, {spec_.width, spec_.height});
  const std::string reason =
      spec_.outputs.size() == expected.size()
          ? mismatch(expected, net_.output_shapes())
          : "the manifest must name " + std::to_string(expected.size()) + " outputs";
  if (reason.empty()) return;
  throw Error(
      ErrorCode::kInternalError,
      "the detector " + spec_.file + " does not fit its family, " + family_.name + ": " + reason);
}

cv::Size Detector::frame_for(cv::Size image) const {
  const cv::Size largest(spec_.width, spec_.height);
  if (!net_.dynamic()) return largest;
  const cv::Size size = size_within(image, largest);
  const int stride = family_.stride > 0 ? family_.stride : spec_.strides.back();
  const auto round_up = [&](int side, int max) {
    const int min = std::max(side, kMinFrame);
    return std::min(max, (min + stride - 1) / stride * stride);
  };
  return {round_up(size.width, largest.width), round_up(size.height, largest.height)};
}

std::vector<Detection> Detector::detect(const View& view, float min_score) const {
  const cv::Mat& bgr = view.bgr;
  thread_local std::vector<float> input;
  const cv::Size size = size_within(bgr.size(), {spec_.width, spec_.height});
  const cv::Size frame = frame_for(bgr.size());
  input.resize(size_t{3} * static_cast<size_t>(frame.area()));
  letterbox(bgr, spec_.normalisation, size, frame, input);
  std::vector<ort::Value> values = net_.run(input, frame.height, frame.width);
  std::vector<std::span<float>> outputs;
  std::vector<Shape> shapes;
  for (const ort::Value& value : values) {
    auto type = value.type();
    outputs.emplace_back(value.floats(), type.count());
    shapes.push_back(std::move(type.shape));
  }
  if (const auto reason = mismatch(family_.outputs(spec_, frame), shapes); !reason.empty()) {
    throw Error(ErrorCode::kInternalError, "the detector's outputs changed: " + reason);
  }

  std::vector<Detection> found;
  family_.decode(spec_, frame, outputs, min_score, found);
  const float to_x = static_cast<float>(bgr.cols) / static_cast<float>(size.width);
  const float to_y = static_cast<float>(bgr.rows) / static_cast<float>(size.height);
  for (auto& [box, score, found_by] : found) {
    if (score <= kMaxScore) score = std::min(score, 1.0f);
    box = {box.x * to_x, box.y * to_y, box.width * to_x, box.height * to_y};
  }
  std::erase_if(found, [&](const Detection& d) { return !is_possible(d, bgr.size()); });
  nms(found, spec_.nms_iou);
  for (Detection& detection : found) detection.box = moved(detection.box, view.to_image);
  return found;
}

}  // namespace facematch
