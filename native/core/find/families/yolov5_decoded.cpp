// YOLOv5-face that decodes its own boxes. The manifest defines the strides and the number of boxes
// per cell. The output has 16 numbers per box, in pixels of the input: centre and sides, objectness
// (0..1), five points, and the score of a face (0..1).
#include "family.h"

namespace facematch::families::yolov5_decoded {
namespace {

constexpr size_t kNumbers = 16;  // per box
constexpr size_t kObjectness = 4, kFace = 15;

std::vector<OutputShape> outputs_of(const DetectorSpec& spec, cv::Size input) {
  size_t rows = 0;
  for (const int stride : spec.strides)
    rows += cells(input, stride) * static_cast<size_t>(spec.anchors);
  return {{"boxes", 0, rows, kNumbers}};
}

void decode(const DetectorSpec&, cv::Size, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  const std::span<const float> all = outputs[0];
  for (size_t at = 0; at + kNumbers <= all.size(); at += kNumbers) {
    const float* t = &all[at];
    const float score = t[kObjectness] * t[kFace];
    if (!(score >= min_score)) continue;
    found.push_back({{t[0] - t[2] / 2, t[1] - t[3] / 2, t[2], t[3]}, score});
  }
}

}  // namespace

extern const DetectorFamily family;
const DetectorFamily family = {"yolov5_decoded", 0, outputs_of, decode};

}  // namespace facematch::families::yolov5_decoded
