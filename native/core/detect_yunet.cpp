// YuNet (libfacedetection): no anchors, one box a cell of three grids. For each stride s, rows of
// cells, left to right and top to bottom: cls and obj 1 x n x 1, both 0..1; bbox 1 x n x 4, from
// the cell to the box's centre (x, y, in cells) and the logarithm of its sides (in cells).
#include <array>
#include <cmath>

#include "detect_family.h"

namespace facematch {
namespace {

constexpr std::array<int, 3> kStrides = {8, 16, 32};

constexpr OutputMember kOutputs[] = {
    {"cls", kStrides.size()}, {"obj", kStrides.size()}, {"bbox", kStrides.size()}};

std::optional<std::string> mismatch(cv::Size input, std::span<const size_t> sizes) {
  if (input.width % kStrides.back() != 0 || input.height % kStrides.back() != 0) {
    return "its width and height must be multiples of " + std::to_string(kStrides.back());
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    const OutputMember& member = kOutputs[i / kStrides.size()];
    const int stride = kStrides[i % kStrides.size()];
    const size_t cells = static_cast<size_t>(input.area() / (stride * stride));
    const size_t expected = cells * (i / kStrides.size() == 2 ? 4 : 1);
    if (sizes[i] == expected) continue;
    return std::string(member.name) + " for stride " + std::to_string(stride) + " has " +
           std::to_string(sizes[i]) + " numbers instead of " + std::to_string(expected);
  }
  return std::nullopt;
}

void decode(cv::Size input, cv::Size, Outputs outputs, float min_score,
            std::vector<Detection>& found) {
  for (size_t grid = 0; grid < kStrides.size(); ++grid) {
    const std::span<const float> cls = outputs[grid];
    const std::span<const float> obj = outputs[kStrides.size() + grid];
    const std::span<const float> bbox = outputs[2 * kStrides.size() + grid];
    const float stride = static_cast<float>(kStrides[grid]);
    const size_t columns = static_cast<size_t>(input.width / kStrides[grid]);
    for (size_t i = 0; i < cls.size(); ++i) {
      const float score = std::sqrt(cls[i] * obj[i]);
      if (!(score >= min_score)) continue;
      const float* t = &bbox[4 * i];
      const size_t column = i % columns;
      const size_t row = i / columns;
      const float x = (static_cast<float>(column) + t[0]) * stride;
      const float y = (static_cast<float>(row) + t[1]) * stride;
      const float width = std::exp(t[2]) * stride;
      const float height = std::exp(t[3]) * stride;
      found.push_back({{x - width / 2, y - height / 2, width, height}, score});
    }
  }
}

}  // namespace

const DetectorFamily kYunet = {"yunet", kOutputs, kStrides.back(), mismatch, decode};

}  // namespace facematch
