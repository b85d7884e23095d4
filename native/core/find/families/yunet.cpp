// YuNet (libfacedetection): no anchors, one box for each cell of three grids. Outputs for each
// stride, ordered by row and column: cls and obj, n x 1, both 0..1; bbox, n x 4, offset from the
// cell to the centre of the box (x, y, in cells) and the logarithm of its sides (in cells).
#include <array>
#include <cmath>

#include "family.h"

namespace facematch::families::yunet {
namespace {

constexpr std::array kStrides = {8, 16, 32};

std::vector<OutputShape> outputs_of(const DetectorSpec&, cv::Size input) {
  std::vector<OutputShape> all;
  for (const char* score : {"cls", "obj"})
    for (const int stride : kStrides) all.push_back({score, stride, cells(input, stride), 1});
  for (const int stride : kStrides) all.push_back({"bbox", stride, cells(input, stride), 4});
  return all;
}

void decode(const DetectorSpec&, cv::Size input, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  for (size_t grid = 0; grid < kStrides.size(); ++grid) {
    const std::span<const float> cls = outputs[grid];
    const std::span<const float> obj = outputs[kStrides.size() + grid];
    const std::span<const float> bbox = outputs[2 * kStrides.size() + grid];
    const float stride = static_cast<float>(kStrides[grid]);
    const size_t columns = cells_along(input.width, kStrides[grid]);
    for (size_t i = 0; i < cls.size(); ++i) {
      const float score = std::sqrt(cls[i] * obj[i]);
      if (!(score >= min_score)) continue;
      const float* t = &bbox[4 * i];
      const float x = (static_cast<float>(i % columns) + t[0]) * stride;
      const float y = (static_cast<float>(i / columns) + t[1]) * stride;
      const float width = std::exp(t[2]) * stride;
      const float height = std::exp(t[3]) * stride;
      found.push_back({{x - width / 2, y - height / 2, width, height}, score});
    }
  }
}

}  // namespace

extern const DetectorFamily family;
const DetectorFamily family = {"yunet", kStrides.back(), outputs_of, decode};

}  // namespace facematch::families::yunet
